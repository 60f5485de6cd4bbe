/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_PAGES_H
#define UNWIND_PAGES_H

#include <stdint.h>

#include "base/vec.h"
#include "bpf/unwind/abi.h"
#include "unwind/pool.h"
#include "unwind/rules.h"

/*
 * Packs the rules of an image, told in the order of their addresses, into pages of rows. Only one
 * page is held outside of the pool at a time.
 */
struct pages {
	struct unwind_pool *pool;
	struct unwind_rules *rules;
	vec(struct unwind_page) directory; /* from first_page on, no gaps */
	uint64_t first_page;
	uint64_t words_left; /* that may still be taken of the pool */
	struct page_row {
		uint16_t pc;
		struct unwind_rule rule;
	} * at; /* the page that is being filled; the first row stands at pc 0 */
	size_t count, room;
	struct unwind_row *packed; /* room of them, too */
	struct unwind_rule last;   /* the rule that holds at the end of what was added */
	uint32_t rows;		   /* in the pool */
	uint32_t unsupported;	   /* rules told that no table can express */
	uint32_t crowded;	   /* rules told that found no room among the rules */
};

/* The most pages of an image: its directory must lie in one chunk. That is 8 GiB of code. */
#define PAGES_MAX (UNWIND_CHUNK_BYTES / sizeof(struct unwind_page))

/* address: the first one that will be told. Needs no clean-up but pages_drop(). */
void pages_begin(struct pages *pages, uint64_t address, struct unwind_pool *pool,
		 struct unwind_rules *rules);

/*
 * From address on rule holds (its until is 0). Addresses only go up; the same one again replaces.
 * Less than PAGES_MAX pages behind the first. 0, -ENOMEM or -ENOSPC (the pool is full).
 */
int pages_add(struct pages *pages, uint64_t address, const struct unwind_rule *rule);

/*
 * Completes the last page and puts the directory into the pool: *directory is its reference, 0 if
 * there is no page. All memory outside of the pool is freed. 0, -ENOMEM or -ENOSPC.
 */
int pages_end(struct pages *pages, uint32_t *directory, uint32_t *count);

/* The same of a single page: it is the caller's to put where it belongs. */
int pages_end_one(struct pages *pages, struct unwind_page *page);

/* Gives up: everything is given back. */
void pages_drop(struct pages *pages);

#endif
