/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_RDMA_CODE_H
#define SOURCES_RDMA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/rdma/abi.h"
#include "process/image.h"

/* The code of a provider's functions, and where in poll_cq() a completion has been written. */

/* The most bytes of a function that is learned. */
#define RDMA_CODE_MAX 16384

/* A function, as far as its instructions lead from one to another. Offsets are from its start. */
struct rdma_code {
	uint32_t size;
	uint32_t site_count;
	uint16_t sites[RDMA_SITES]; /* branches and jumps, in order */
	struct rdma_insn {
		uint8_t size; /* 0: none begins there */
		bool falls;   /* the next one may follow */
		bool has_target;
		uint16_t target;
		uint16_t writes; /* registers, by their DWARF numbers */
	} insns[RDMA_CODE_MAX];
};

/*
 * Whether a function begins at an offset in a file, by the file's unwind information. *size: its
 * bytes. Returns 0; -ENOENT: none does; or another negative errno with *why filled.
 */
int rdma_function_at(const struct image *image, uint64_t offset, uint64_t *size, struct fail *why);

/* Reads the instructions of a function. False: a part is not code, or there is no branch. */
bool rdma_code_read(struct rdma_code *code, const uint8_t *bytes, size_t size);

/* Where a completion has just been written: its address is a register's value less distance. */
struct rdma_spot {
	uint16_t offset;
	uint8_t reg; /* DWARF number */
	int16_t distance;
};

/*
 * Chooses the branch by which each call came once for every completion that it found, and no call
 * that found none: the last one in the loop that writes them. False: there is none.
 */
bool rdma_code_choose(const struct rdma_code *code, const struct rdma_learning *learning,
		      const struct rdma_poll *polls, struct rdma_spot *spot);

#endif
