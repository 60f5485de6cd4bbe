/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_BATCH_H
#define FILM_BATCH_H

#include "base/buf.h"
#include "base/vec.h"
#include "film/arena.h"
#include "film/catalogue.h"
#include "film/film.h"
#include "film/kinds.h"

/*
 * What one commit writes, on its way from the thread that fills it (writer.c) to the one that
 * writes it (disk.c).
 */

/* What can be done to a row. */
enum film_row {
	FILM_ROW_META_NUMBER,
	FILM_ROW_META_TEXT,
	FILM_ROW_EVENT,
	FILM_ROW_PROCESS,
	FILM_ROW_THREAD,
	FILM_ROW_IMAGE,
	FILM_ROW_FILE,
	FILM_ROW_LOSS,
	FILM_ROW_FUNCTIONS,
	FILM_ROW_FRAMES,
	FILM_ROW_NAMES,
	FILM_ROW_STARTS,
	FILM_ROW_STACKS,
	FILM_ROW_PROCESSES,
	FILM_ROW_THREADS,
	FILM_ROW_BLOCK,
	FILM_ROW_KINDS,
};

extern const struct film_row_kind {
	const char *parameters; /* of the SQL: i a number, t a text, b bytes */
	const char *sql;
} film_row_kinds[FILM_ROW_KINDS];

/* Rows of one kind of block, event and time (where the kind has one that is given). */
struct film_rows {
	struct film_rows *next;
	uint64_t from, to;
	uint8_t *at;
	size_t count, room;
};

/*
 * Memory of the rows of a batch that was written, for those of another one: to fetch some megabytes
 * from the kernel each second, and to give them back, would cost more than to fill them.
 */
struct film_spare {
	uint8_t *at; /* null: none */
	size_t size;
};

/* Those of one kind and event, in the order in which they were begun. */
struct film_pile {
	struct film_rows *first, *last;
};

/* One row of naming a frame. A frame's rows of the call that comes last are those that count. */
struct film_named {
	struct film_naming row;
	uint32_t call;
};

/* The start of a frame's function. The call that comes last counts. */
struct film_started {
	struct film_start row;
	uint32_t call;
};

/* Of functions, frames and stacks the new ones, ids from first on. */
struct film_batch {
	struct film_batch *next;
	struct buf rows; /* operations on rows, from film_put_row() */
	struct film_first {
		uint32_t function, frame, stack;
	} first;
	vec(struct film_function) functions;
	struct arena names_of_functions;
	size_t name_bytes; /* in that */
	vec(struct film_place) frames;
	vec(struct film_stack) stacks;
	vec(struct film_named) names;
	vec(struct film_started) starts;
	struct film_pile piles[FILM_BLOCK_KINDS][FILM_EVENTS_MAX];
	size_t piled[FILM_BLOCK_KINDS]; /* bytes of rows, */
	size_t pile_bytes;		/* and of the memory that all of them take */
	uint64_t block_span;		/* ns: of a block whose rows are sorted, at most, */
	uint32_t block_rows;		/* unless they are fewer than this */
	bool is_final;			/* what is written is never written again */
	struct film_spare spare;	/* for the first rows that are many */
	/*
	 * of a film that keeps them packed, all, by id with the unused 0; texts live until the disk
	 * is closed
	 */
	vec(struct film_process) processes;
	vec(struct film_thread) threads;
};

/*
 * Appends one operation: its kind, then for each parameter a varint, which is the number, or the
 * size of the bytes that follow. Give uint64_t for i, const char * for t, const void * and size_t
 * for b.
 */
void film_put_row(struct buf *rows, enum film_row kind, ...);

/*
 * Where the next of *count rows of that kind can be put, at least one: *count becomes how many.
 * They are counted as put. Null: no memory. from, to: the time that they are of, where that is
 * given; else 0.
 */
void *film_batch_rows(struct film_batch *batch, enum film_block_kind kind, uint32_t event,
		      uint64_t from, uint64_t to, size_t *count);

/* How many rows are samples, also those that say more. */
uint64_t film_batch_samples(const struct film_batch *batch);

size_t film_batch_size(const struct film_batch *batch);

/*
 * Steals the largest memory of rows of a batch that was written, if it is worth being used
 * again, and not too much to be kept: null if there is none. The batch can only be freed then.
 */
struct film_spare film_batch_steal_spare(struct film_batch *batch);

void film_batch_free(struct film_batch *batch);

#endif
