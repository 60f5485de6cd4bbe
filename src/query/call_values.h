/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALL_VALUES_H
#define QUERY_CALL_VALUES_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "query/replay.h"

/* The arguments and results of a film's calls, as text. */
struct call_values {
	struct map of_call; /* by hash: where its two texts begin */
	struct buf texts;
	uint64_t left_out; /* calls whose values would take too much memory */
};

/*
 * Reads those that the question asks for; a film without values has none. values needs
 * call_values_free() in any case. Returns 0 or a negative errno with *why filled.
 */
int call_values_read(struct film *film, const struct replay_question *q, struct call_values *values,
		     struct fail *why);
void call_values_free(struct call_values *values);
/* Prints on standard error how many calls' values were left out, if any were. */
void call_values_warn(const struct call_values *values);

/*
 * "a=1, b=2", and what was returned; "": nothing. Null: nothing is known of that call. Harmless,
 * and lives as long as values.
 */
const char *call_values_given(const struct call_values *values, const struct film_call *call);
const char *call_values_returned(const struct call_values *values, const struct film_call *call);

#endif
