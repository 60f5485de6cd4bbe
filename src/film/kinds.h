/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_KINDS_H
#define FILM_KINDS_H

#include "film/calls.h"
#include "film/film.h"
#include "film/layout.h"
#include "film/logs.h"
#include "film/losses.h"
#include "film/schema.h"
#include "film/gauges.h"
#include "film/works.h"

/*
 * The kinds of blocks of what was observed, a row each: what their rows are, in which order, of
 * which time, what they add up to. Code that packs, checks, walks through or merges blocks asks
 * here, and knows no kind by name.
 */

/* What stands beside a block in its row. */
struct film_span {
	uint64_t t0, t1;
	uint64_t total; /* UINT64_MAX if it does not fit */
	uint32_t count;
};

/* Which time that is. */
enum film_kind_span {
	FILM_SPAN_NONE,	 /* 0: they are true of all of the film */
	FILM_SPAN_GIVEN, /* from t0 up to, but not with, t1, as who gave them said */
	FILM_SPAN_TIMES, /* the least and the greatest of their times */
};

/* What was taken from a block, in the columns that its readers know. */
union film_view {
	size_t count;
	struct film_samples samples;
	struct film_calls calls;
	struct film_waits waits;
	struct film_locks locks;
	struct film_turns turns;
	struct film_requests requests;
	struct film_helds held;
	struct film_values values;
	struct film_gauges gauges;
	struct film_logs logs;
	struct film_works works;
};

struct film_kind {
	const char *name;
	struct layout layout;
	enum film_kind_span span;
	const struct layout_column
		*time; /* by which FILM_SPAN_TIMES goes, and questions for a part of the time */
	const struct layout_column
		*length; /* ns that ended at time, if they are of more than a moment */
	const struct layout_column
		*total;	   /* what the row of a block says as its total is the sum of this, */
	bool had_no_total; /* of blocks of earlier versions it is 0 */
	const struct layout_column *outermost; /* of the rows in which this is 0 */
	/*
	 * Samples are what is of a thread and has a stack: then time and total are a sample's time
	 * and value.
	 */
	const struct layout_column *thread, *stack;
	const struct layout_column *born;  /* of memory in use; null: it has none */
	const struct layout_column *count; /* the same: how many samples a row is */
	const struct layout_column *cpu;   /* on which CPU, and 1; null: not known of any */
	/* by time, and blocks by their first time; else both are in the order of writing */
	bool sorted;
	/*
	 * though each block is, those of one thread are in order only as they were written: a block
	 * may begin before one that was written earlier
	 */
	bool follow;
	/* rows of the same time belong together: a block has all of them, if it has room */
	bool together;
	bool many;	/* millions a second: they are not copied before they are packed */
	size_t pending; /* bytes of rows that may wait for a commit; 0: the usual limit */
	uint32_t
		/* ns: to which times are known, and kept where films become one; 0: to one */
		clock;
	enum film_block_kind
		also; /* what is written of this kind is written as that one too, which says more */
	bool beside;  /* nothing is given as this kind: it is such another one */
	enum own_loss lost; /* when there is no room for a row */
	/*
	 * A way of their own to stand in a block; null: as their columns say. pack() leaves the
	 * block in c->packed; unpack() fills a view, which points into r.
	 */
	int (*pack)(struct calls_packer *p, struct columns *c, const void *rows, size_t count);
	int (*unpack)(struct calls_reader *r, const struct layout_limits *limits, const void *data,
		      size_t size, size_t count, union film_view *view);
};

/* Null: a reader skips blocks of a kind that is not known. */
const struct film_kind *film_kind(uint64_t kind);

#endif
