/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_WHEN_H
#define QUERY_WHEN_H

#include <stdint.h>

#include "base/fail.h"
#include "film/film.h"

/* A point in time that a user wrote: since the film's start, or in wall time. */
struct when {
	enum {
		WHEN_OPEN,
		WHEN_SINCE_START,
		WHEN_OF_DAY,
		WHEN_DATE
	} kind;
	uint64_t ns;	  /* since the film's start, midnight (local time zone), or 1970 */
	const char *text; /* as the user wrote it; null: open */
};

/*
 * Parses "2.5", "2.5s", "1500ms", "14:32", "14:32:08.5", and RFC 3339: "2026-11-21T14:32:08Z", or
 * local time without an offset. text must outlive when. Returns 0, or -EINVAL with *why filled,
 * which lists the accepted forms.
 */
int when_parse(const char *text, struct when *when, struct fail *why);

/*
 * Converts a time to the film's monotonic clock, limited to its range; open: the result for
 * WHEN_OPEN.
 */
uint64_t when_resolve(const struct when *when, const struct film_info *info, uint64_t open);

#endif
