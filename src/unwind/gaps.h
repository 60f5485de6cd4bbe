/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_GAPS_H
#define UNWIND_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind/abi.h"
#include "elf/image.h"
#include "unwind/synthesize.h"

/* The code of an image that no unwind information describes. */

/* Between two functions so close there is only padding, which never runs: it needs no row. */
#define PADDING_MAX 15

/* Behind the last address that a table can speak of: far more than user space has. */
#define ADDRESS_END (1ull << (32 + UNWIND_PAGE_SHIFT))

/* A function that is described. */
struct function {
	uint64_t start;
	uint32_t size;
	uint32_t where; /* its description, for who listed it */
};

struct functions {
	struct function *at;
	size_t count, room;
};

struct gaps {
	struct code_gap *at; /* sorted, not overlapping */
	size_t count, room;
};

static inline uint64_t function_end(const struct function *f)
{
	return f->start + f->size;
}

/* Adds what the functions, which are sorted by their starts, leave. 0 or -ENOMEM. */
int gaps_find(const struct elf_image *image, const struct functions *functions, struct gaps *gaps);

#endif
