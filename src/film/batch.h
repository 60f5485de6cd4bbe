/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_BATCH_H
#define FILM_BATCH_H

#include "base/buf.h"
#include "base/vec.h"
#include "film/arena.h"
#include "film/catalogue.h"
#include "film/film.h"
#include "film/samples.h"
#include "film/schema.h"

/*
 * What one commit writes, on its way from the thread that fills it (writer.c) to the one that writes
 * it (disk.c).
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

struct film_sample_list {
	struct film_sample *at;
	size_t count, room;
};

/* Calls in the order of writing, as many as a block holds: they are copied no more until they are packed. */
struct film_call_chunk {
	struct film_call_chunk *next;
	uint32_t event;
	size_t count;
	struct film_call at[FILM_BLOCK_MAX];
};

struct film_probe_given {
	uint32_t event;
	struct film_probe probe;
};

struct film_sum_given {
	uint32_t event;
	uint64_t from, to;
	struct film_sum sum;
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
	struct film_sample_list samples[FILM_EVENTS_MAX]; /* by event */
	uint64_t block_span;				  /* ns: of a block of them at most */
	struct film_call_chunk *calls, *last_calls;
	struct film_call_chunk *open[FILM_EVENTS_MAX]; /* the last chunk of an event */
	size_t call_count;
	/* of a film that keeps them packed, all, by id with the unused 0; texts live until the disk is closed */
	vec(struct film_process) processes;
	vec(struct film_thread) threads;
	vec(struct film_probe_given) probes;
	vec(struct film_sum_given) sums;
};

/*
 * Appends one operation: its kind, then for each parameter a varint, which is the number, or the size
 * of the bytes that follow. Give uint64_t for i, const char * for t, const void * and size_t for b.
 */
void film_put_row(struct buf *rows, enum film_row kind, ...);

size_t film_batch_size(const struct film_batch *batch);
void film_batch_free(struct film_batch *batch);

#endif
