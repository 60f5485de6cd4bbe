/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_STORE_MADE_STORE_H
#define TESTS_UNIT_STORE_MADE_STORE_H

#include "film_build.h"
#include "store/ask.h"
#include "store/index.h"

/*
 * An index without a store around it, with films made by hand. Any failure ends the program.
 * Minutes are those of the films: minute 0 begins at FILM_BUILD_START, five seconds after a full
 * minute of the clock on the wall.
 */
#define MADE_START   1767323045ull /* s since 1970 */
#define MADE_MINUTE0 (MADE_START / 60)
/* The same in ns; and when all hours of the films are over. */
#define MINUTE 60000000000ull
#define HOUR   (60 * MINUTE)
#define START  (MADE_MINUTE0 * MINUTE)
#define LATER  (START + 100 * HOUR)

struct made_film {
	char path[64];
	struct film *film;
};

/*
 * Films with random stacks of three services over that many minutes; the same seed makes the same
 * film.
 */
struct made_film made_film(unsigned int seed, unsigned int samples, unsigned int minutes);
void made_film_free(struct made_film *made);

/* What store/ask.h takes for a store, when store.c is not there. */
struct store *made_store(struct index *index);
extern struct build_names *made_names; /* of all of them; null at first */
/* How many answers had no time to read all their films. */
unsigned int made_partial(const struct store *store);

struct index *made_index(const char *path);
void made_add(struct index *index, const struct made_film *made, const char *host);

/* A flame, which is right in itself. */
struct store_answer made_flame(struct index *index, const struct store_ask *ask);

/*
 * The index says of those times (minutes from START on) and series what another answer says, by
 * with().
 */
struct made_ask {
	unsigned int from, to;
	const char *host, *service;
};
void made_compare(struct index *index, const struct made_ask *asks, size_t count,
		  struct store_answer (*with)(struct index *other, const struct store_ask *ask),
		  struct index *other);

/* The same question, answered by the films: a filter that keeps everything needs them. */
struct store_answer made_by_films(struct index *index, const struct store_ask *ask);
/* Asks index and films the same, for some times and series. */
void made_check_by_films(struct index *index);

/* An answer is right in itself. */
void made_check(const struct store_answer *answer);

/* Both answers have the same total, nodes and functions. */
void made_same_flame(const struct store_answer *a, const struct store_answer *b);

/* The same, and the same sums. */
void made_same(const struct store_answer *a, const struct store_answer *b);

/* Like made_same(), with what a report says of a film. */
void made_same_as_report(const struct store_answer *a, struct film *film,
			 const struct question *question);

#endif
