/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_PLACES_H
#define QUERY_PLACES_H

#include "base/map.h"
#include "query/names.h"
#include "query/view.h"

/*
 * The places of a function at which samples were taken: the build of its image, and the source
 * line. A sample counts for the innermost frame of the function in its stack, so that the places
 * add up to the function's total.
 */
struct place {
	const char *image; /* path; "" in places by line */
	uint8_t build_id[FILM_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: none; also in places by line */
	const char *file;	/* "": not known; also in places by build */
	uint32_t line;		/* 0: not known */
	uint64_t self, total;	/* in the event's unit */
};

/* All zero is empty. It owns its strings and does not depend on the films. */
struct places {
	vec(struct place) all;
	struct map of; /* hash of build and line -> index in all, across films */
	struct name_pool names;
};

/*
 * Adds the samples of a function in a whole view (VIEW_WHOLE) of a film. image: file name of its
 * image; null: any. shape: that of the view's question. Returns 0 or -ENOMEM.
 */
int places_add(struct places *places, const struct view *view, const struct shape *shape,
	       const char *name, const char *image);

/*
 * Sums up the places by build or by line, largest total first. Returns *count entries, which the
 * caller frees; their strings belong to places. Null: no memory.
 */
enum places_by {
	PLACES_BY_BUILD,
	PLACES_BY_LINE,
};
struct place *places_sum(const struct places *places, enum places_by by, size_t *count);

void places_free(struct places *places);

#endif
