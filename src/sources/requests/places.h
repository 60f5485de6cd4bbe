/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_PLACES_H
#define SOURCES_REQUESTS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/*
 * Which requests threads, tasks and goroutines work for, as they have said themselves. A place is a
 * number of one of these, a key one of a request, as the caller has them. All zero is empty.
 */
struct requests_places {
	struct map all; /* place: a struct place */
};

struct requests_held {
	uint64_t key, number;
	uint64_t parent; /* the number of the request that it is within; 0: none that is known */
};

void requests_places_free(struct requests_places *places);

/* Whether it works for any. */
bool requests_places_has(const struct requests_places *places, uint64_t place);

/*
 * It works for that one from now on, and is within none that it works for now but its parent.
 * is_turn: it has worked for it before, and for others since. False: no memory.
 */
bool requests_places_enter(struct requests_places *places, uint64_t place,
			   const struct requests_held *held, bool is_turn);

/* It does not work for that one any more. */
void requests_places_leave(struct requests_places *places, uint64_t place, uint64_t key);

/*
 * The number of the one that it works for now; 0: that is not known. *outer: what else it may serve
 * meanwhile, as it is within that: a number, or 0. takes_turns: it has said more.
 */
uint64_t requests_places_current(const struct requests_places *places, uint64_t place,
				 uint64_t *outer, bool *takes_turns);

#endif
