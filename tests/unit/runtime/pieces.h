/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_PIECES_H
#define TESTS_RUNTIME_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

/*
 * The bytes that are known of something large: a process's memory, a file. Kept by pages, each byte
 * known or not. All zero is empty.
 */
struct pieces_page {
	uint64_t number;
	uint8_t bytes[4096], known[512];
};

struct pieces {
	vec(struct pieces_page) pages;
	struct map by_number; /* the place in pages */
};

void pieces_free(struct pieces *pieces);

/* Makes count bytes known. False: no memory. */
bool pieces_put(struct pieces *pieces, uint64_t address, const void *bytes, size_t count);

/* False: not all count bytes are known. */
bool pieces_get(const struct pieces *pieces, uint64_t address, void *to, size_t count);

/* Forgets count bytes. */
void pieces_forget(struct pieces *pieces, uint64_t address, size_t count);

/* A run of bytes that are known, with none before and behind it. */
struct pieces_run {
	uint64_t address;
	size_t count;
};
typedef vec(struct pieces_run) pieces_runs;

/* All runs, in order; pages are sorted by it. False: no memory. */
bool pieces_list(struct pieces *pieces, pieces_runs *runs);

/* Into bytes and back. Reading: more than limit bytes fail (from->failed). */
void pieces_write(struct pieces *pieces, struct buf *to);
void pieces_read(struct pieces *pieces, struct bytes *from, size_t limit);

#endif
