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

/* Of an object at a place. False: no memory. */
static bool add_holder(struct state_objects *objects, size_t object, const struct slice *slice)
{
	const struct slice_evidence *e = &slice->evidence;
	uint64_t time = slice->end - slice->start;
	uint64_t key = hash_u64(hash_u64(object) ^ ((uint64_t)e->holder << 8 | e->holder_sure));
	const uint64_t *place = map_get(&objects->of_holders, key);
	struct state_holder *holder;

	if (!place) {
		struct state_holder new = {.thread = e->holder, .sure = e->holder_sure};

		/* what has no room here is of a holder that is not known */
		if (objects->holders.count >= OBJECTS_MAX)
			return true;
		new.next = objects->all.at[object].held;
		if (!vec_push(&objects->holders, new) ||
		    !map_put(&objects->of_holders, key, objects->holders.count - 1))
			return false;
		objects->all.at[object].held = (uint32_t)objects->holders.count;
	}
	holder = place ? &objects->holders.at[*place] : vec_last(&objects->holders);
	holder->count++;
	holder->total += time;
	holder->longest = time > holder->longest ? time : holder->longest;
	return true;
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
	if (!slice->evidence.lock)
		return true;
	/* not each wait for a lock is known to be one: one that is describes it */
	if (!object->like.evidence.lock)
		object->like = *slice;
	return !slice->evidence.holder ||
	       add_holder(objects, (size_t)(object - objects->all.at), slice);
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

static int longest_holder_first(const void *left, const void *right)
{
	const struct state_holder *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Links the holders of an object anew. False: no memory, and they stay in another order. */
static bool sort_holders(struct state_objects *objects, struct state_object *object)
{
	vec(struct state_holder) sorted = {0};
	bool ok = true;
	uint32_t at;
	size_t i = 0;

	for (at = object->held; ok && at; at = objects->holders.at[at - 1].next)
		ok = vec_push(&sorted, objects->holders.at[at - 1]);
	if (ok && sorted.count > 1) {
		qsort(sorted.at, sorted.count, sizeof(*sorted.at), longest_holder_first);
		for (at = object->held; at; at = objects->holders.at[at - 1].next) {
			uint32_t next = objects->holders.at[at - 1].next;

			objects->holders.at[at - 1] = sorted.at[i++];
			objects->holders.at[at - 1].next = next;
		}
	}
	vec_free(&sorted);
	return ok;
}

bool state_objects_sort(struct state_objects *objects)
{
	bool ok = true;

	vec_foreach (&objects->all, object)
		ok = ok && sort_holders(objects, object);

	if (objects->all.count)
		qsort(objects->all.at, objects->all.count, sizeof(*objects->all.at), longest_first);
	/* places are other ones now */
	map_free(&objects->places);
	map_free(&objects->of_holders);
	return ok;
}

void state_objects_free(struct state_objects *objects)
{
	vec_free(&objects->all);
	vec_free(&objects->holders);
	map_free(&objects->places);
	map_free(&objects->of_holders);
}
