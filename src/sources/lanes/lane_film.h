/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_LANE_FILM_H
#define SOURCES_LANES_LANE_FILM_H

#include "base/map.h"
#include "sources/lanes/lane_lives.h"
#include "sources/source.h"

/* Enough for what any lane is called. */
#define LANE_NAME_MAX 128

/* What one is called. told: as its process has it; null: it did not tell. */
typedef void lane_name(const struct source *source, uint64_t number, const char *told,
		       char to[LANE_NAME_MAX]);

/* Lanes of a source in the film, and the threads that they ran on, which records name by number. */
struct lane_film {
	const struct source *source;
	lane_name *name;
	struct lane_lives *lives; /* null: they were not asked for */
	uint32_t event;		  /* of the film */
	struct map threads;	  /* of this film */
};

/* by_threads: as of struct lane_lives_to. 0 or a negative errno. */
int lane_film_new(struct lane_film *film, const struct source *source, lane_name *name,
		  bool by_threads);
/* The first film, or another one: in it, the lanes are this event. */
void lane_film_turn(struct lane_film *film, uint32_t event);
void lane_film_free(struct lane_film *film);

#endif
