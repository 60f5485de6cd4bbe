// SPDX-License-Identifier: Apache-2.0
#include "query/state_objects.h"

#include <stdlib.h>

/* The most objects; what waited for others is counted as left. */
#define OBJECTS_MAX (1u << 18)

static uint64_t key_of(const struct state_objects *objects, uint32_t process,
		       const struct slice *slice, const struct slice_evidence *evidence)
{
	uint64_t key = hash_u64((uint64_t)process << 8 | slice->kind);

	return hash_u64(key ^ slice_object_key(&objects->keys, slice, evidence));
}

void state_objects_init(struct state_objects *objects, const struct film *film)
{
	*objects = (struct state_objects){0};
	object_keys_init(&objects->keys, film);
}

/* Apart, as it is rare: it is made on the stack first. */
static __attribute__((noinline)) struct state_object *
new_object(struct state_objects *objects, uint64_t key, uint32_t process, const struct slice *slice,
	   const struct slice_evidence *evidence)
{
	struct state_object new = {.like = *slice, .evidence = *evidence, .process = process};

	if (!vec_push(&objects->all, new) ||
	    !map_put(&objects->places, key, objects->all.count - 1))
		return NULL;
	return vec_last(&objects->all);
}

/* The object that waits like this one have. False: no memory; null: no room. */
static bool object_like(struct state_objects *objects, uint32_t process, const struct slice *slice,
			const struct slice_evidence *evidence, struct state_object **object)
{
	uint64_t key = key_of(objects, process, slice, evidence);
	const uint64_t *place = map_get(&objects->places, key);

	*object = NULL;
	if (place)
		*object = &objects->all.at[*place];
	else if (objects->all.count < OBJECTS_MAX)
		*object = new_object(objects, key, process, slice, evidence);
	else
		return true;
	return *object;
}

/* Keeps what describes the object better. Not each wait for a lock is known to be one. */
static void keep_better(struct state_object *object, const struct slice *slice,
			const struct slice_evidence *evidence)
{
	const struct slice *than = &object->like;
	bool is_better = slice->start != than->start ? slice->start < than->start
						     : slice->thread < than->thread;

	if (!evidence->lock.address != !object->evidence.lock.address)
		is_better = evidence->lock.address;
	if (!is_better)
		return;
	object->like = *slice;
	object->evidence = *evidence;
}

/* Of an object at a place. False: no memory. */
static bool add_holder(struct state_objects *objects, size_t object, const struct state_holder *add)
{
	uint64_t key = hash_u64(hash_u64(object) ^ ((uint64_t)add->thread << 8 | add->sure));
	const uint64_t *place = map_get(&objects->of_holders, key);
	struct state_holder *holder;

	if (!place) {
		struct state_holder new = {.thread = add->thread, .sure = add->sure};

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
	holder->count += add->count;
	holder->total += add->total;
	holder->longest = add->longest > holder->longest ? add->longest : holder->longest;
	return true;
}

bool state_objects_add(struct state_objects *objects, const struct film *film,
		       const struct slice *slice, const struct slice_evidence *evidence)
{
	const struct slice_lock *lock = &evidence->lock;
	uint64_t time = slice->end - slice->start;
	struct state_object *object;

	if (!object_like(objects, film->threads[slice->thread].process, slice, evidence, &object))
		return false;
	if (!object) {
		objects->left++;
		return true;
	}
	object->count++;
	object->total += time;
	object->longest = time > object->longest ? time : object->longest;
	keep_better(object, slice, evidence);
	return !lock->address || !lock->holder ||
	       add_holder(objects, (size_t)(object - objects->all.at),
			  &(struct state_holder){.thread = lock->holder,
						 .sure = lock->sure,
						 .count = 1,
						 .total = time,
						 .longest = time});
}

static bool merge_object(struct state_objects *objects, const struct state_objects *other,
			 const struct state_object *add)
{
	struct state_object *object;
	bool ok = true;

	if (!object_like(objects, add->process, &add->like, &add->evidence, &object))
		return false;
	if (!object) {
		objects->left += add->count;
		return true;
	}
	object->count += add->count;
	object->total += add->total;
	object->longest = add->longest > object->longest ? add->longest : object->longest;
	keep_better(object, &add->like, &add->evidence);
	for (uint32_t at = add->held; ok && at; at = other->holders.at[at - 1].next)
		ok = add_holder(objects, (size_t)(object - objects->all.at),
				&other->holders.at[at - 1]);
	return ok;
}

bool state_objects_merge(struct state_objects *objects, const struct state_objects *other)
{
	bool ok = true;

	objects->left += other->left;
	for (size_t i = 0; ok && i < other->all.count; i++)
		ok = merge_object(objects, other, &other->all.at[i]);
	return ok;
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
