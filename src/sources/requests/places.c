// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/places.h"

#include "base/owned.h"
#include "base/vec.h"

/* The last one is what it began last. */
struct place {
	bool takes_turns;
	vec(struct requests_held) open;
};

void requests_places_free(struct requests_places *places)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&places->all, &i, &key, &value);)
		vec_free(&((struct place *)(uintptr_t)value)->open);
	owned_free(&places->all);
}

bool requests_places_has(const struct requests_places *places, uint64_t place)
{
	return owned_get(&places->all, place);
}

static void drop_if_empty(struct requests_places *places, uint64_t key, struct place *place)
{
	if (place->open.count)
		return;
	vec_free(&place->open);
	owned_remove(&places->all, key);
}

bool requests_places_enter(struct requests_places *places, uint64_t key,
			   const struct requests_held *held, bool is_turn)
{
	struct place *place = owned_make(&places->all, key, sizeof(*place), SIZE_MAX);
	bool done;

	if (!place)
		return false;
	place->takes_turns |= is_turn;
	done = vec_push(&place->open, *held);
	drop_if_empty(places, key, place);
	return done;
}

void requests_places_leave(struct requests_places *places, uint64_t key, uint64_t request)
{
	struct place *place = owned_get(&places->all, key);
	size_t kept = 0;

	if (!place)
		return;
	vec_foreach (&place->open, held)
		if (held->key != request)
			place->open.at[kept++] = *held;
	place->open.count = kept;
	drop_if_empty(places, key, place);
}

uint64_t requests_places_current(const struct requests_places *places, uint64_t key,
				 uint64_t *outer, bool *takes_turns)
{
	const struct place *place = owned_get(&places->all, key);
	const struct requests_held *held = place ? vec_last(&place->open) : NULL;

	*outer = 0;
	*takes_turns = place && place->takes_turns;
	if (!held)
		return 0;
	if (place->takes_turns)
		return held->number;
	/* each of them must be within the one that was begun before it */
	for (*outer = held->parent; held != place->open.at; *outer = held->parent)
		if ((--held)->number != *outer)
			return 0;
	return vec_last(&place->open)->number;
}
