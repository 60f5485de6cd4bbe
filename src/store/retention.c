// SPDX-License-Identifier: Apache-2.0
/* Films that are too old, or more than there is room for, are removed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/room.h"

/* A clock that was set by more is believed after some time: a mistake must not cost all films. */
#define CLOCK_SET_NS ((int64_t)NS_PER_HOUR)
#define BELIEVE_NS   (600 * NS_PER_SECOND)

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
	store->removed += film->bytes > 0;
	pthread_mutex_unlock(&store->lock);
	err = store_drop_gone(store, film, why);
	if (!err)
		return 0;
	/* on a disk that is full the index is told when there is room again: it is looked for, and not there */
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

int store_remove_old(struct store *store, uint64_t now, struct fail *why)
{
	size_t count;
	struct store_film **films = store_list(store, &count);
	uint64_t age_max, bytes_max, room, bytes;
	int err = 0;

	if (!films)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at the films");
	pthread_mutex_lock(&store->lock);
	age_max = store->age_max;
	bytes_max = store->bytes_max;
	pthread_mutex_unlock(&store->lock);
	watch_clock(store, now);
	if (clock_ns() < store->no_age_until)
		age_max = 0;
	room = bytes_max ? room_for_films(store, bytes_max) : UINT64_MAX;
	qsort(films, count, sizeof(*films), by_age);
	for (size_t i = 0; !err && i < count; i++) {
		uint64_t end = end_of(films[i]);
		bool is_old = age_max && end < now && now - end > age_max;

		pthread_mutex_lock(&store->lock);
		bytes = store->bytes;
		pthread_mutex_unlock(&store->lock);
		if (!is_old && bytes <= room)
			break;
		if (!films[i]->is_growing)
			err = remove_film(store, films[i], why);
	}
	free(films);
	return err;
}
