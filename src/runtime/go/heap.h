/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_GO_HEAP_H
#define RUNTIME_GO_HEAP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "process/image.h"
#include "runtime/runtime.h"

/*
 * Go's own profile of its heap: the runtime samples allocations by their bytes, and keeps what came
 * of those of each stack in a list of buckets. Its file and its memory are hostile input.
 */

/* Where it is in a program; addresses of the image. */
struct go_heap {
	uint64_t buckets; /* runtime.mbuckets: the first bucket */
	uint64_t rate;	  /* runtime.MemProfileRate: mean bytes between samples */
	uint32_t minor;	  /* of Go's version: 19 of 1.19 */
};

/*
 * Returns 0; -ENOENT: it is not Go's; -ENOTSUP: its version, or its code, is not known,
 * with *why filled; another negative errno.
 */
int go_heap_of(struct go_heap *heap, const struct image *image, struct fail *why);

#define GO_HEAP_STACK_MAX 128

/* What came of the allocations of one stack, as the last complete collection of garbage left it. */
struct go_heap_bucket {
	uint64_t address;				 /* by which it is known again */
	uint64_t allocs, frees, alloc_bytes, free_bytes; /* of samples alone */
	uint64_t stack[GO_HEAP_STACK_MAX];		 /* return addresses, leaf first */
	uint32_t count;
};

/* The most buckets of a process. */
#define GO_HEAP_BUCKETS_MAX 262144

/*
 * Reads all of a process's buckets. bias: of its image. *rate: 0: the program does not sample.
 * Returns how many there were, or a negative errno: its memory cannot be read, or is not what it
 * should be; -E2BIG: there are more.
 */
int go_heap_read(const struct go_heap *heap, const struct runtime_memory *memory, uint64_t bias,
		 uint64_t *rate, void (*emit)(void *context, const struct go_heap_bucket *bucket),
		 void *context);

#endif
