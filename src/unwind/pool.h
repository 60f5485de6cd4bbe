/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_POOL_H
#define UNWIND_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * The pool of words in which all unwind tables lie (bpf/unwind/abi.h): an allocator over chunks.
 * Where the memory of a chunk comes from is the owner's affair: a BPF map that is shared with the
 * kernel side, or plain memory in tests.
 */
struct unwind_pool;

struct unwind_pool_memory {
	void *context;
	/* The memory of chunk number n (UNWIND_CHUNK_BYTES, zeroed), or null with *why filled. */
	void *(*make)(void *context, uint32_t n, struct fail *why);
	/* Nothing in chunk n is used any more. */
	void (*drop)(void *context, uint32_t n, void *chunk);
};

/* limit: the most bytes of all chunks together. */
int unwind_pool_new(const struct unwind_pool_memory *memory, uint64_t limit,
		    struct unwind_pool **pool);
void unwind_pool_free(struct unwind_pool *pool);

/*
 * words consecutive words in one chunk; returns their reference, or 0: over the limit, larger than
 * a chunk, or out of memory. Reference 0 itself is never handed out.
 */
uint32_t unwind_pool_get(struct unwind_pool *pool, uint32_t words);

/*
 * Puts them back: the same reference and number. The memory is used again only after
 * unwind_pool_settle(), since the kernel side may still be reading it.
 */
void unwind_pool_put(struct unwind_pool *pool, uint32_t reference, uint32_t words);

/* To be called when no walk that began before the last unwind_pool_put() can still run. */
void unwind_pool_settle(struct unwind_pool *pool);

/* Whether something waits for unwind_pool_settle(). */
int unwind_pool_unsettled(const struct unwind_pool *pool);

/* Where a reference lies in this process. */
void *unwind_pool_at(const struct unwind_pool *pool, uint32_t reference);

/*
 * The most bytes that one image may take: a part of what is left, so that there is always something
 * left for others, however large what came before pretended to be.
 */
uint64_t unwind_pool_share(const struct unwind_pool *pool);

/* Bytes in chunks, and bytes of them in use. */
void unwind_pool_usage(const struct unwind_pool *pool, uint64_t *chunks, uint64_t *used);

#endif
