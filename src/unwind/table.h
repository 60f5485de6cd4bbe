/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "unwind/pool.h"
#include "unwind/rules.h"

/*
 * Compiles the unwind information of one image (.eh_frame, or .debug_frame of the file or of its
 * separate debug file) into a table in the pool. The image is hostile input.
 */

struct gaps; /* gaps.h */

/* The table of an image; a plain value, to be copied at will. All zero: it has none. */
struct unwind_table {
	uint32_t directory;  /* reference to struct unwind_page[pages] */
	uint32_t first_page; /* of the image's virtual addresses */
	uint32_t pages;
	/* for reports and tests */
	uint32_t rows;	      /* of all pages; each page's are a span of the pool of their own */
	uint32_t fdes;	      /* functions described */
	uint32_t unsupported; /* places from which on the rule is one that cannot be expressed */
	uint32_t crowded;     /* the same, because the rules shared by all images are full */
	uint32_t refused;     /* descriptions that are damaged, or of no code, or overlap another */
	bool left_out;	      /* all code without unwind information was left out */
	uint32_t more;	      /* blocks of code that were read since (more.h) */
	bool over_budget; /* parts were left out: to read them takes more than of any sound file */
};

/*
 * Builds the table of the ELF file open at fd (its position is not used), or of the ELF image in
 * memory (the vDSO). Returns 0, also when the file has no unwind information at all: then the table
 * is all zero. -ENOSPC: the pool is full. Other negative errnos with *why: not an ELF file of
 * this machine's kind, or damaged beyond use.
 */
int unwind_table_of_file(int fd, struct unwind_pool *pool, struct unwind_rules *rules,
			 struct unwind_table *table, struct fail *why);
int unwind_table_of_memory(const void *image, size_t size, struct unwind_pool *pool,
			   struct unwind_rules *rules, struct unwind_table *table,
			   struct fail *why);

/*
 * The same of a file of which code without unwind information may be left out at first, if leaf,
 * an address that a stack has led to, lies elsewhere: to read it takes most of the time, and most
 * stacks never lead there. Null: it may not.
 */
int unwind_table_for_leaf(int fd, const uint64_t *leaf, struct unwind_pool *pool,
			  struct unwind_rules *rules, struct unwind_table *table, struct fail *why);

/*
 * Adds where the file has code without unwind information, which is the caller's to free also
 * after an error. 0 or a negative errno.
 */
int unwind_table_gaps(int fd, struct gaps *gaps);

/* Puts the table's memory back into the pool and zeroes it. */
void unwind_table_drop(struct unwind_table *table, struct unwind_pool *pool);

/* Bytes that the table takes in the pool. */
uint64_t unwind_table_bytes(const struct unwind_table *table);

#endif
