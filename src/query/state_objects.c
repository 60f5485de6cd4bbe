// SPDX-License-Identifier: Apache-2.0
#include "query/state_objects.h"

#include <stdlib.h>

/* The most objects; what waited for others is counted as left. */
#define OBJECTS_MAX (1u << 18)

static uint64_t key_of(const struct state_objects *objects, uint32_t process,
		       const struct slice *slice)
{
	uint64_t key = hash_u64((uint64_t)process << 8 | slice->kind);

	return hash_u64(key ^ slice_object_key(&objects->keys, slice));
}

void state_objects_init(struct state_objects *objects, const struct film *film)
{
	*objects = (struct state_objects){0};
	object_keys_init(&objects->keys, film);
}

/* Apart, as it is rare: it is made on the stack first. */
static __attribute__((noinline)) struct state_object *
new_object(struct state_objects *objects, uint64_t key, uint32_t process, const struct slice *slice)
{
	struct state_object new = {.like = *slice, .process = process};

	if (!vec_push(&objects->all, new) ||
	    !map_put(&objects->places, key, objects->all.count - 1))
		return NULL;
	return vec_last(&objects->all);
}

bool state_objects_add(struct state_objects *objects, const struct film *film,
		       const struct slice *slice)
{
	uint32_t process = film->threads[slice->thread].process;
	uint64_t time = slice->end - slice->start, key;
	const uint64_t *place;
	struct state_object *object;

	if (!slice_is_wait(slice->kind))
		return true;
	key = key_of(objects, process, slice);
	place = map_get(&objects->places, key);
	if (!place && objects->all.count >= OBJECTS_MAX) {
		objects->left++;
		return true;
	}
	object = place ? &objects->all.at[*place] : new_object(objects, key, process, slice);
	if (!object)
		return false;
	object->count++;
	object->total += time;
	object->longest = time > object->longest ? time : object->longest;
	return true;
}

static int longest_first(const void *left, const void *right)
{
	const struct state_object *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->like.start != b->like.start)
		return a->like.start < b->like.start ? -1 : 1;
	return a->like.thread < b->like.thread ? -1 : a->like.thread > b->like.thread;
}

void state_objects_sort(struct state_objects *objects)
{
	if (objects->all.count)
		qsort(objects->all.at, objects->all.count, sizeof(*objects->all.at), longest_first);
	/* places are other ones now */
	map_free(&objects->places);
}

void state_objects_free(struct state_objects *objects)
{
	vec_free(&objects->all);
	map_free(&objects->places);
}
