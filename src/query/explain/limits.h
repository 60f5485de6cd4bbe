/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_LIMITS_H
#define QUERY_EXPLAIN_LIMITS_H

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "film/reader.h"

/* What control groups may have of memory, of those that had nearly as much at some time. */
struct explain_limits {
	vec(struct explain_limit {
		const char *group; /* its path; the film's */
		uint64_t bytes;	   /* as it was last */
	}) all;
	struct map known; /* a group's object in the film to its place in all */
};

/*
 * Of the whole film: they are read seldom, and for the last time when it ends. 0, also where the
 * film has none, or a negative errno with *why filled.
 */
int explain_limits_load(struct explain_limits *limits, struct film *film, struct fail *why);
void explain_limits_free(struct explain_limits *limits);

/* The limit of a group, or of the nearest one above it that has one; null: none is known. */
const struct explain_limit *explain_limit_of(const struct explain_limits *limits,
					     const char *group);

#endif
