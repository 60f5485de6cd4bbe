/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_INDEX_SERIES_H
#define STORE_INDEX_SERIES_H

#include "store/index_builds.h"
#include "store/index_private.h"

/* Finds the series of a film's processes. */
struct index_series_finder {
	struct index *index;
	const struct film *film;
	const char *host;
	struct index_builds own, *builds;
};

/*
 * 0 or -ENOMEM. Walks the film's samples where a program's file was replaced while it was filmed.
 * builds: what is known of them, and is kept; null: nothing.
 */
int index_series_begin(struct index_series_finder *finder, struct index *index, struct film *film,
		       const char *host, struct index_builds *builds);
/* The number in the dictionary; SERIES_OTHERS where it is full. 0: no memory. */
uint32_t index_series_of(struct index_series_finder *finder, const struct film_process *process);
void index_series_end(struct index_series_finder *finder);

/*
 * The same in words, without a dictionary. version: at least INDEX_VERSION_SIZE bytes; "" where the
 * build of the program is not known.
 */
enum {
	INDEX_SERVICE_SIZE = 256,
	INDEX_VERSION_SIZE = 17
};
/* A copy of the rules by which services get their names; null: no memory. For identity_free(). */
struct identity *index_rules(struct index *index);

void index_service_of(struct index *index, const struct film_process *process, char *service);
/* Those of the film and those of the process's container: FILM_LABELS_SIZE bytes. */
void index_labels_of(const struct index_series_finder *finder, const struct film_process *process,
		     char *labels);
void index_version_of(const struct index_series_finder *finder, const struct film_process *process,
		      char *version);

/* What is known of a film: its number and how many of its blocks were added; 0, 0 if it is not. */
int index_film_find(struct index *index, const char *name, int64_t *id, uint64_t *blocks,
		    struct fail *why);
/*
 * Writes that all of the film is in the index now, what it has lost since it was last seen, and its
 * sender's number.
 */
/* How many of a film's blocks can be added now. */
uint64_t index_blocks_of(const struct index_film *of, const struct film *film);
int index_film_set(struct index *index, const struct index_film *of, const struct film *film,
		   int64_t id, struct fail *why);

#endif
