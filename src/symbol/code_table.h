/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_CODE_TABLE_H
#define SYMBOL_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * What lay where in a process that makes code while it runs, as a file of that process tells it.
 * Code is thrown away and its place used again, so the question is always: what lay here at that
 * time? Names stay in the file; an entry says where in it.
 */
struct code_entry {
	uint64_t start, size; /* size is not 0, and start + size does not wrap */
	uint64_t loaded;      /* ns of CLOCK_MONOTONIC; 0: before all that can be asked */
	uint64_t record;      /* where the file describes it */
	uint64_t lines;	      /* and of its lines; 0: it does not */
	uint64_t origin; /* where it lay when the file told that: moved code has another start */
	uint64_t index;	 /* the file's own number for this entry; 0 where there is none */
};

struct code_table {
	vec(struct code_entry) entries; /* in the order in which the file has them */
	uint64_t refused; /* entries that were forgotten, or not kept without memory */
	/*
	 * The times are the runtime's own. Else they are those of reading, and what was read only
	 * after the code ran may still be about it.
	 */
	bool exact;
};

/* Some large runtimes hold 100,000 methods. What comes later takes the place of what came first. */
#define CODE_TABLE_MAX (1u << 18)

struct code_question {
	uint64_t address;
	uint64_t time;		  /* when it ran */
	uint32_t index;		  /* the caller's */
	uint32_t source;	  /* the caller's, too */
	struct code_entry answer; /* size 0: nothing is known to have lain there */
};

/*
 * Keeps a valid entry; others are passed over. A full table forgets the older half of its entries
 * for it.
 */
void code_table_add(struct code_table *table, const struct code_entry *entry);

/*
 * Answers all questions, and sorts them by address: of the entries that hold it, the one that was
 * loaded last before that time; of those loaded at once, the one that the file has last. Returns 0;
 * -E2BIG: entries lie over each other beyond all measure.
 */
int code_table_answer(const struct code_table *table, struct code_question *questions,
		      size_t count);

/* Forgets the older half. */
void code_table_forget(struct code_table *table);

void code_table_free(struct code_table *table);

/* What such a file tells of a place. */
struct code_name {
	char function[8192]; /* as the file spells it; longer ones are cut */
	char file[8192];     /* "": not known */
	uint32_t line;
};

#endif
