// SPDX-License-Identifier: Apache-2.0
#include "film/known.h"

#include <string.h>

#include "base/map.h"

static uint64_t hash_key(const struct known_key *key)
{
	uint64_t rest = key->text ? hash_bytes(key->text, strlen(key->text)) : hash_u64(key->b);

	return hash_u64(key->a ^ rest);
}

static bool is_it(const struct known_thing *thing, const struct known_key *key)
{
	return thing->a == key->a &&
	       (key->text ? !strcmp(thing->text, key->text) : thing->b == key->b);
}

static uint32_t find(const struct known_generation *in, const struct known_key *key, uint64_t hash)
{
	size_t at = intern_start(&in->index, hash);
	uint32_t place;

	while ((place = intern_next(&in->index, hash, &at))) {
		const struct known_thing *thing = &in->things.at[place - 1];

		if (is_it(thing, key))
			return thing->id;
	}
	return 0;
}

/*
 * The memory is used again: what is freed and asked for again and again lies in pieces in the end.
 */
static void empty(struct known_generation *g)
{
	intern_clear(&g->index);
	g->things.count = 0;
	arena_free(&g->texts);
}

static bool put(struct known *k, const struct known_key *key, uint64_t hash, uint32_t id)
{
	struct known_thing thing = {.a = key->a, .b = key->b, .id = id};
	struct known_generation *young;

	if (k->limit && k->young.things.count >= k->limit) {
		struct known_generation oldest = k->old;

		k->old = k->young;
		k->young = oldest;
		empty(&k->young);
	}
	young = &k->young;
	if (key->text) {
		thing.text = arena_text(&young->texts, key->text, strlen(key->text));
		if (!thing.text)
			return false;
	}
	if (!vec_push(&young->things, thing))
		return false;
	if (intern_add(&young->index, hash, (uint32_t)young->things.count))
		return true;
	young->things.count--;
	return false;
}

uint32_t known_find(struct known *k, const struct known_key *key)
{
	uint64_t hash = hash_key(key);
	uint32_t id = find(&k->young, key, hash);

	if (id)
		return id;
	id = find(&k->old, key, hash);
	/* without memory it is forgotten sooner, no more */
	if (id)
		put(k, key, hash, id);
	return id;
}

bool known_add(struct known *k, const struct known_key *key, uint32_t id)
{
	return put(k, key, hash_key(key), id);
}

static void free_generation(struct known_generation *g)
{
	intern_free(&g->index);
	vec_free(&g->things);
	arena_free(&g->texts);
}

void known_clear(struct known *k)
{
	free_generation(&k->young);
	free_generation(&k->old);
}
