/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOADING_H
#define FILM_LOADING_H

#include <errno.h>

#include "film/catalogue.h"
#include "film/labels.h"
#include "film/load.h"
#include "film/row.h"

/*
 * What is known while a film is loaded; load.c (its tables) and load_catalogue.c (blocks of
 * functions, frames and stacks) share it.
 */

struct loader {
	sqlite3 *db;
	const char *path;
	struct fail *why;
	struct film *film;
	int version; /* of its format */
	struct film_reading reading;
	struct arena *texts, *replaced;
	uint64_t text_left;	/* bytes of text that may still come */
	uint64_t replaced_left; /* the same of rows that are written again */
	uint64_t names_left;	/* bytes of function names that may still come */
	uint64_t words_left;	/* and of the texts of packed processes and threads */
	struct column_reader columns;
	vec(struct film_place) places;	 /* of the block of frames at hand */
	vec(struct film_naming) namings; /* of the block of names at hand */
	vec(struct film_start) starts;	 /* of the block of starts at hand */

	unsigned int meta_rows, meta_known;
	char labels[FILM_LABELS_SIZE];

	vec(struct film_event) events;
	vec(struct film_process) processes;
	vec(struct film_thread) threads;
	vec(struct film_image) images;
	vec(struct film_function) functions;
	vec(const char *) files;
	vec(struct film_frame) frames;
	vec(struct film_inline) inlines;
	vec(struct film_stack) stacks;
	vec(struct film_loss) losses;
	vec(struct film_block) blocks;
};

static inline struct loader *loader_of(const struct film_row *r)
{
	return r->context;
}

#define push(r, table, ...)                                                    \
	do {                                                                   \
		if (!(r)->err && !vec_push(&loader_of(r)->table, __VA_ARGS__)) \
			(r)->err = -ENOMEM;                                    \
	} while (0)

/* The rows of a block that says to hold the ids from first on, at most max; 0 when err is set. */
uint32_t load_block_rows(struct film_row *r, size_t first, uint32_t max);

/* Each takes a row, which is a block, of one table. */
void load_functions(struct film_row *r);
void load_frames(struct film_row *r);
void load_names(struct film_row *r);
void load_starts(struct film_row *r);
void load_stacks(struct film_row *r);

/*
 * When all blocks of names were taken: the film's table of inlined calls. 0, or a negative errno
 * with l->why filled.
 */
int load_inlines(struct loader *l);

#endif
