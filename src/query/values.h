/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VALUES_H
#define QUERY_VALUES_H

#include "base/shown.h"
#include "film/reader.h"
#include "query/question.h"

/*
 * The calls of a film with what they were given, and what they have returned (struct film_value).
 * Names and texts are hostile; the trees are not deeper than VALUES_DEPTH_MAX.
 */
#define VALUES_DEPTH_MAX 64

struct valued_call {
	uint64_t end, duration;
	uint64_t goroutine;	/* 0: none */
	uint32_t thread, frame; /* of the film */
	uint32_t flags;		/* enum film_call_flag: OPEN, INFERRED, BEGAN */
	struct shown_tree arguments, results;
};

static inline bool valued_call_has_end(const struct valued_call *call)
{
	return !(call->flags & (FILM_CALL_OPEN | FILM_CALL_INFERRED));
}

/*
 * The event of that name, null: that of calls, if the film has values of its calls; else 0.
 */
uint32_t values_event(const struct film *film, const char *name);

/*
 * Gives take() each call with values that the question's filter keeps, in order of their end; the
 * call lives until it returns. A value of take() other than 0 ends the walk and is returned. take()
 * must not walk through the same film. *broken: calls whose rows do not make trees. Returns 0 or a
 * negative errno with *why filled; 0 if the film has none.
 */
int values_each(struct film *film, const struct question *q,
		int (*take)(void *context, const struct valued_call *call), void *context,
		uint64_t *broken, struct fail *why);

#endif
