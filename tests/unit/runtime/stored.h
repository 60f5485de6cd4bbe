/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_STORED_H
#define TESTS_RUNTIME_STORED_H

#include "bpf/unwind/abi.h"
#include "pieces.h"
#include "stored_walk.h"
#include "process/targets.h"

/*
 * A stored process: one thread of a real process at one moment, with all that it takes to walk its
 * stack and to name its frames again, on any machine and without rights. Kept is what was read: of
 * the process's memory, of its images' files (headers, the symbols that were found, the bytes that
 * were asked for), and of the unwind tables the rules of the frames that were passed.
 */

/* An unwind rule that holds for one virtual address of an image. */
struct stored_rule {
	uint64_t address;
	struct unwind_rule rule;
};

struct stored_image {
	struct image
		/* path and segments are the stored process's; fd is made by stored_begin() */
		image;
	uint64_t file_size;
	struct pieces file; /* by offset */
	uint32_t suspects;  /* bit of enum unwind_runtime: it may be this runtime's */
	bool has_table, looked;
	vec(struct stored_rule) rules; /* sorted */
};

struct stored {
	struct process process;
	struct stored_thread thread;
	struct pieces memory;
	vec(struct stored_image) images;
	vec(struct mapping) mappings; /* of the process; their images are set by stored_begin() */
	vec(uint32_t) mapped;	      /* the image of each */
	uint64_t reads, reads_max;    /* of memory: a replay ends at the latest then; 0: no limit */
};

void stored_free(struct stored *stored);

/*
 * Into bytes (uncompressed) and back. -EINVAL: damaged; -ENOMEM. After an error *stored is empty.
 */
void stored_pack(struct stored *stored, struct buf *to);
int stored_unpack(struct stored *stored, const void *bytes, size_t count);

/* The same with compression, and a file. Negative errno. */
int stored_save(struct stored *stored, const char *path);
int stored_load(struct stored *stored, const char *path);

/*
 * Bytes of a file or of compressed data, at most limit, for the caller to free; null: it cannot be
 * had.
 */
uint8_t *stored_expand(const void *compressed, size_t size, size_t *expanded);

/*
 * Makes the images' files and the process's mappings. 0 or a negative errno. Then it can be walked:
 */
int stored_begin(struct stored *stored);
struct stored_source stored_source(struct stored *stored);

#endif
