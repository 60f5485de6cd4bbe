/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALLS_WALK_H
#define QUERY_CALLS_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "film/film.h"
#include "query/calls/paths.h"

/*
 * Calls, given in order of their start, as beginnings and ends in order of time across all threads.
 * The calls of one track (a thread's stack) are a tree: every beginning has its end, and what
 * ends first began last, even where the calls claim otherwise.
 */
struct call_walk;

/*
 * In the flags of a call that is given, beside FILM_CALL_GAP: the one that ended before it on its
 * track ended within it, so that what was lost belongs before its end, not before its beginning.
 */
#define CALL_WALK_GAP_WITHIN (1u << 31)

struct call_event {
	enum call_event_kind {
		CALL_EVENT_BEGIN,
		CALL_EVENT_END,
		CALL_EVENT_GAP, /* calls of this track were lost here; call is the one next to it */
	} kind;
	const struct film_call *call; /* lives until the function returns */
	uint64_t time;		      /* never less than the one before of the same track … */
	uint64_t start, end; /* … and these of the call keep to it: a child's lie within */
	uint64_t duration;   /* CALL_EVENT_END: ns without the tracer's cost, if it is known */
	uint64_t error;	     /* ns by which the duration may be off */
	unsigned int
		level;	/* how many calls around it are shown, or should be there but were lost */
	bool is_before; /* it began before the span that is shown */
	bool is_beyond; /* it ends behind it: duration is not without all cost */
};

struct call_walk_options {
	/* What is shown: a byte per frame of the film; null: all. */
	const uint8_t *frames;
	const uint8_t *under;	/* only these and what they call */
	const uint8_t *ignored; /* neither these nor what they call; null: none */
	uint64_t min_time;	/* only calls that took as long, the tracer's cost included */
	unsigned int max_level; /* levels shown; 0: all */
	uint64_t from, to;	/* events in [from, to), and what is open there */

	/* The tracer's cost per frame; null: nothing is subtracted. */
	const struct call_cost *costs;

	/*
	 * A byte per thread: its records were lost, so what lacks a caller lost it. Null: none.
	 */
	const uint8_t *has_gaps;

	int (*emit)(void *context, const struct call_event *event);
	void *context;
};

/* options are copied, what they point to is not. Returns 0 or -ENOMEM. */
int call_walk_new(const struct call_walk_options *options, struct call_walk **walk);
void call_walk_free(struct call_walk *walk); /* null is allowed */

/*
 * Adds the next call by start, then depth. Its thread and frame must be in range for the options'
 * arrays. Returns 0, -ENOMEM, or what emit() returned if that is not 0.
 */
int call_walk_add(struct call_walk *walk, const struct film_call *call);

/* No call that comes later starts before that time. Returns as call_walk_add(). */
int call_walk_until(struct call_walk *walk, uint64_t time);

/* Tells the rest. Returns as call_walk_add(). */
int call_walk_end(struct call_walk *walk);

#endif
