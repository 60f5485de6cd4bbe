/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VALUES_H
#define QUERY_VALUES_H

#include "base/shown.h"
#include "film/reader.h"
#include "query/question.h"

/*
 * The calls of a film with their arguments and results (struct film_value). Names and texts are
 * hostile; trees are at most VALUES_DEPTH_MAX deep.
 */
#define VALUES_DEPTH_MAX 64

struct valued_call {
	uint64_t end, duration;
	uint64_t goroutine;	/* 0: none */
	uint32_t thread, frame; /* ids in the film */
	uint32_t flags;		/* enum film_call_flag: OPEN, INFERRED, BEGAN */
	struct shown_tree arguments, results;
};

static inline bool valued_call_has_end(const struct valued_call *call)
{
	return !(call->flags & (FILM_CALL_OPEN | FILM_CALL_INFERRED));
}

/*
 * The id of the event with that name (null: of the event of calls) if the film has values of its
 * calls; else 0.
 */
uint32_t values_event(const struct film *film, const char *name);

/*
 * Calls emit() with each call with values that the question's filter keeps, sorted by end. The call
 * is valid until emit() returns. If emit() returns a value other than 0, the walk ends and returns
 * that value. emit() must not walk through the same film. *broken: number of calls whose rows do
 * not form trees. Otherwise returns 0, also if the film has none, or a negative errno with *why
 * filled.
 */
int values_each(struct film *film, const struct question *q,
		int (*emit)(void *context, const struct valued_call *call), void *context,
		uint64_t *broken, struct fail *why);

#endif
