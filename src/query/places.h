/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_PLACES_H
#define QUERY_PLACES_H

#include "base/map.h"
#include "query/names.h"
#include "query/view.h"

/*
 * Where in a function samples were: in which build of its image, and in which source line. A sample
 * counts for the innermost frame of the function in its stack, so that the places add up to the
 * function's total.
 */
struct place {
	const char *image; /* its path; "" in places by line */
	uint8_t build_id[FILM_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: it has none; in places by line */
	const char *file;	/* "": not known; in places by build */
	uint32_t line;		/* 0: not known */
	uint64_t self, total;	/* in the event's unit */
};

/* All zero is empty. Strings are its own: films may go. */
struct places {
	vec(struct place) all;
	struct map of; /* hash of build and line to the place: films have the same ones */
	struct name_pool names;
};

/*
 * Adds what a whole view (VIEW_WHOLE) of a film has of a function; image: where it is, known by the
 * last part of its path; null: wherever. shape: as the question of the view has it. Returns 0 or
 * -ENOMEM.
 */
int places_add(struct places *places, const struct view *view, const struct shape *shape,
	       const char *name, const char *image);

/*
 * The same summed up by build or by line, largest total first: *count entries to be freed, whose
 * strings live as long as the places. Null: no memory.
 */
enum places_by {
	PLACES_BY_BUILD,
	PLACES_BY_LINE,
};
struct place *places_sum(const struct places *places, enum places_by by, size_t *count);

void places_free(struct places *places);

#endif
