// SPDX-License-Identifier: Apache-2.0
/*
 * Films that are too old, or more than there is room for, are removed. No owner's films push out
 * those of others: where there is no room, the oldest go of the owner who has the most. The films
 * that are recorded here count only as far as they take more than half of the room.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/room.h"

/* A clock that was set by more is believed after some time: a mistake must not cost all films. */
#define CLOCK_SET_NS ((int64_t)NS_PER_HOUR)
#define BELIEVE_NS   (600 * NS_PER_SECOND)
/* How often films are looked for that only the bucket has, and that are too old. */
#define EXPIRY_NS (600 * NS_PER_SECOND)

static uint64_t end_of(const struct store_film *film)
{
	return film->last ? film->last : film->start + (film->is_part ? 0 : NS_PER_HOUR);
}

static int by_age(const void *a, const void *b)
{
	const struct store_film *x = *(struct store_film *const *)a;
	const struct store_film *y = *(struct store_film *const *)b;

	if (end_of(x) != end_of(y))
		return end_of(x) < end_of(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int remove_film(struct store *store, struct store_film *film, struct fail *why)
{
	int err;

	index_files_change(store->index);
	err = folder_remove(store->path, film->name);
	index_files_changed(store->index);
	if (err)
		return fail_errno(why, err, NULL, "cannot remove %s", film->name);
	pthread_mutex_lock(&store->lock);
	store->removed += film->bytes > 0 && !film->in_bucket;
	store->released += film->in_bucket;
	pthread_mutex_unlock(&store->lock);
	err = store_drop_gone(store, film, why);
	if (!err)
		return 0;
	/*
	 * on a disk that is full the index learns it when there is room again: it is looked for,
	 * and not there
	 */
	pthread_mutex_lock(&store->lock);
	store_resize(store, film);
	film->is_indexed = false;
	pthread_mutex_unlock(&store->lock);
	return err;
}

static void watch_clock(struct store *store, uint64_t now)
{
	uint64_t mono = clock_ns();
	int64_t offset = (int64_t)(now - mono), set = offset - store->wall_offset;

	if (store->wall_offset && (set > CLOCK_SET_NS || set < -CLOCK_SET_NS))
		store->no_age_until = mono + BELIEVE_NS;
	store->wall_offset = offset;
}

/* The index shrinks later than the films that it is made from: it must not cost them all. */
static uint64_t room_for_films(struct store *store, uint64_t bytes_max)
{
	struct index_status index;

	index_status(store->index, &index);
	return bytes_max - (index.bytes < bytes_max / 2 ? index.bytes : bytes_max / 2);
}

/* The films of one owner, as they are removed: the oldest first. */
struct owned {
	uint64_t owner;
	bool is_own;
	uint64_t bytes;
	vec(struct store_film *) films;
	size_t next; /* those before it are gone, or grow */
};

struct owned_list {
	vec(struct owned) all;
};

static struct owned *find_owned(struct owned_list *list, struct store_host of)
{
	vec_foreach (&list->all, owned)
		if (owned->is_own == of.is_own && (of.is_own || owned->owner == of.owner))
			return owned;
	return vec_push(&list->all, (struct owned){.owner = of.owner, .is_own = of.is_own})
		       ? vec_last(&list->all)
		       : NULL;
}

static void owned_free(struct owned_list *list)
{
	vec_foreach (&list->all, owned)
		vec_free(&owned->films);
	vec_free(&list->all);
}

/* Films in the order of their age, by owner. */
static int sort_by_owner(struct store *store, struct store_film **films, size_t count,
			 struct owned_list *list)
{
	int err = 0;

	pthread_mutex_lock(&store->lock);
	for (size_t i = 0; !err && i < count; i++) {
		struct owned *owned = find_owned(list, store_owner_of(store, films[i]->host));

		if (!owned || !vec_push(&owned->films, films[i])) {
			err = -ENOMEM;
			continue;
		}
		owned->bytes += films[i]->bytes;
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

static uint64_t too_much(const struct owned *owned, uint64_t room)
{
	if (!owned->is_own)
		return owned->bytes;
	return owned->bytes > room / 2 ? owned->bytes - room / 2 : 0;
}

/* The film that is to go next; null: none can. */
static struct store_film *pick(struct owned_list *list, uint64_t room)
{
	struct owned *most = NULL;
	struct store_film *film;

	vec_foreach (&list->all, owned) {
		while (owned->next < owned->films.count && owned->films.at[owned->next]->is_growing)
			owned->next++;
		if (owned->next < owned->films.count &&
		    (!most || too_much(owned, room) > too_much(most, room)))
			most = owned;
	}
	if (!most)
		return NULL;
	film = most->films.at[most->next++];
	most->bytes -= film->bytes < most->bytes ? film->bytes : most->bytes;
	return film;
}

static uint64_t bytes_of(struct store *store)
{
	uint64_t bytes;

	pthread_mutex_lock(&store->lock);
	bytes = store->bytes;
	pthread_mutex_unlock(&store->lock);
	return bytes;
}

/*
 * Local copies of films that the bucket has: nothing is lost with them. *left: how many of the
 * films are not removed, which come first then.
 */
static int release_copies(struct store *store, struct store_film **films, size_t *left,
			  uint64_t room, struct fail *why)
{
	size_t count = *left;
	bool is_synced = false;
	int err = 0;

	*left = 0;
	for (size_t i = 0; i < count; i++) {
		struct store_film *film = films[i];
		bool is_copy = !err && film->in_bucket && bytes_of(store) > room;

		if (is_copy)
			err = store_check_copy(store, film, why);
		is_copy = is_copy && !err && film->in_bucket;
		/* a power cut must not leave a film without its row */
		if (is_copy && !is_synced) {
			err = index_sync(store->index, why);
			is_synced = !err;
		}
		if (is_copy && !err)
			err = remove_film(store, film, why);
		else
			films[(*left)++] = film;
	}
	return err;
}

static int make_room(struct store *store, struct store_film **films, size_t count, uint64_t room,
		     struct fail *why)
{
	struct owned_list list = {0};
	struct store_film *film;
	int err;

	if (bytes_of(store) <= room)
		return 0;
	qsort(films, count, sizeof(*films), by_age);
	err = release_copies(store, films, &count, room, why);
	if (err || bytes_of(store) <= room)
		return err;
	err = sort_by_owner(store, films, count, &list);
	if (err)
		fail_errno(why, err, NULL, "cannot look at the films");
	while (!err && bytes_of(store) > room && (film = pick(&list, room)))
		err = remove_film(store, film, why);
	owned_free(&list);
	return err;
}

/* Those that are too old; *left: how many of the films are not, which come first then. */
static int remove_aged(struct store *store, struct store_film **films, size_t *left, uint64_t now,
		       uint64_t age_max, struct fail *why)
{
	size_t count = *left;
	int err = 0;

	*left = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t end = end_of(films[i]);
		bool is_old = age_max && end < now && now - end > age_max;

		if (!err && is_old && !films[i]->is_growing) {
			/* the bucket's copy is too old for answers, too */
			pthread_mutex_lock(&store->lock);
			films[i]->in_bucket = false;
			pthread_mutex_unlock(&store->lock);
			err = remove_film(store, films[i], why);
		} else {
			films[(*left)++] = films[i];
		}
	}
	return err;
}

/* The same of those that only the bucket has: now and then, as all are looked at. */
static int forget_aged(struct store *store, uint64_t now, uint64_t age_max, struct fail *why)
{
	if (!age_max || age_max > now || clock_ns() < store->next_expiry)
		return 0;
	store->next_expiry = clock_ns() + EXPIRY_NS;
	return store_forget_expired(store, now - age_max, why);
}

/* Those of a later version are not touched. */
static size_t without_later(struct store_film **films, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (!films[i]->is_later)
			films[left++] = films[i];
	return left;
}

int store_remove_old(struct store *store, uint64_t now, struct fail *why)
{
	size_t count;
	struct store_film **films = store_list(store, &count);
	uint64_t age_max, bytes_max;
	int err;

	if (!films)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at the films");
	pthread_mutex_lock(&store->lock);
	age_max = store->age_max;
	bytes_max = store->bytes_max;
	pthread_mutex_unlock(&store->lock);
	watch_clock(store, now);
	if (clock_ns() < store->no_age_until)
		age_max = 0;
	count = without_later(films, count);
	err = remove_aged(store, films, &count, now, age_max, why);
	if (!err)
		err = forget_aged(store, now, age_max, why);
	if (!err && bytes_max)
		err = make_room(store, films, count, room_for_films(store, bytes_max), why);
	free(films);
	return err;
}
