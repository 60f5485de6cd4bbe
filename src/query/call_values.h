/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALL_VALUES_H
#define QUERY_CALL_VALUES_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "film/reader.h"
#include "query/names.h"
#include "query/replay.h"

/* The arguments and results of a film's calls, as text. */
struct call_values {
	struct map of_call; /* hash of a call -> offset of its two texts */
	struct buf texts;
	uint64_t left_out; /* calls whose values would take too much memory */
};

/*
 * Reads the values that the question selects; a film without values has none. Returns 0 or a
 * negative errno with *why filled; call call_values_free() in both cases.
 */
int call_values_read(struct film *film, const struct replay_question *q, struct call_values *values,
		     struct fail *why);
void call_values_free(struct call_values *values);
/* Prints the number of calls whose values were left out on standard error, unless it is 0. */
void call_values_warn(const struct call_values *values);

/*
 * The arguments of a call, "a=1, b=2", and its results; "": none. Null: the film has no values of
 * that call. The text is escaped, and valid as long as values.
 */
const char *call_values_text(const struct call_values *values, const struct film_call *call);
const char *call_values_returned(const struct call_values *values, const struct film_call *call);

/* Caches the names of a film's frames. */
struct call_names {
	const struct film *film;
	const char **of_frame; /* null: not requested yet */
	struct name_pool pool;
};

/* Returns 0 or -ENOMEM. */
int call_names_init(struct call_names *names, const struct film *film);
void call_names_free(struct call_names *names);

/* The frame's name as in the film, so escape it. It is valid as long as names. Null: no memory. */
const char *call_names_of(struct call_names *names, uint32_t frame);

#endif
