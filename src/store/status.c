// SPDX-License-Identifier: Apache-2.0
/* How the store is, and which events it has: asked every few seconds, on the busiest machines. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "film/events.h"
#include "store/index_private.h"
#include "store/fleet/fleet.h"
#include "store/room.h"

/*
 * Those who hold the store's lock wait for nothing but a rename at the most, which on a busy disk
 * may take seconds.
 */
#define PATIENCE_NS 5000000ull

_Static_assert((int)STORE_EVENTS_MAX == (int)INDEX_EVENTS_MAX, "an event would be left out");

/* Each name once, of those with samples: the same with another unit is not told. */
static size_t events_of(const struct index *index, struct store_event events[STORE_EVENTS_MAX])
{
	const uint32_t known = index->event_count;
	size_t count = 0;

	for (uint32_t i = 1; i < known; i++) {
		bool is_known =
			event_find(index->events[i].name, index->events[i].unit)->has_no_samples;

		for (size_t k = 0; k < count; k++)
			is_known = is_known || !strcmp(events[k].name, index->events[i].name);
		if (!is_known)
			events[count++] =
				(struct store_event){index->events[i].name, index->events[i].unit};
	}
	return count;
}

/* Whether films have what devices ran, an event without samples. */
static bool has_devices(const struct index *index)
{
	const char *name = event_type(EVENT_GPU_LANES)->name;

	for (uint32_t i = 1; i < index->event_count; i++)
		if (!strcmp(index->events[i].name, name))
			return true;
	return false;
}

/* With the store's lock held. */
static uint64_t count_later(const struct store *store)
{
	uint64_t count = 0;

	vec_foreach (&store->films, film)
		count += (*film)->is_later;
	return count;
}

/* With the store's lock held: what the bucket is to get, and what it has of the films here. */
static void count_bucket(const struct store *store, struct store_status *status)
{
	vec_foreach (&store->films, film) {
		status->bucket_here += (*film)->in_bucket;
		status->bucket_waiting += (*film)->is_packed && !(*film)->in_bucket;
	}
}

/* With the store's lock held: what the index does not know. */
static struct store_status look_at_films(const struct store *store)
{
	const uint64_t now = clock_wall();

	struct store_status status = {
		.films = store->films.count,
		.bytes = store->bytes,
		.set_aside = store->set_aside,
		.later = count_later(store),
		.taken = store->taken,
		.again = store->again,
		.removed = store->removed,
		.behind = now - store_complete_of(store, &(struct store_span){.to = now}),
		.is_full = store->is_full,
		.is_growing = store->single_grows,
		.is_cut_off = store->single_is_cut_off,
		.has_devices = has_devices(store->index),
		.bucket_released = store->released,
	};

	count_bucket(store, &status);
	return status;
}

void store_look(struct store *store)
{
	struct store_event events[STORE_EVENTS_MAX];
	size_t count = events_of(store->index, events);
	struct store_status status;
	struct index_status seen;

	index_status(store->index, &seen);
	pthread_mutex_lock(&store->lock);
	status = look_at_films(store);
	pthread_mutex_unlock(&store->lock);
	pthread_mutex_lock(&store->shown.lock);
	store->shown.index = seen;
	store->shown.status = status;
	memcpy(store->shown.events, events, count * sizeof(*events));
	store->shown.event_count = count;
	pthread_mutex_unlock(&store->shown.lock);
}

size_t store_events(struct store *store, struct store_event *events, size_t max)
{
	size_t count;

	pthread_mutex_lock(&store->shown.lock);
	count = store->shown.event_count < max ? store->shown.event_count : max;
	memcpy(events, store->shown.events, count * sizeof(*events));
	pthread_mutex_unlock(&store->shown.lock);
	return count;
}

static void status_of_single(struct store *store, struct store_status *status)
{
	struct stat st;

	status->films = 1;
	status->bytes = stat(store->path, &st) ? 0 : (uint64_t)st.st_size;
}

/* False: others have the lock for longer. */
static bool look_soon(struct store *store, struct store_status *status)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += PATIENCE_NS;
	until.tv_sec += until.tv_nsec / (long)NS_PER_SECOND;
	until.tv_nsec %= (long)NS_PER_SECOND;
	if (pthread_mutex_clocklock(&store->lock, CLOCK_MONOTONIC, &until))
		return false;
	*status = look_at_films(store);
	pthread_mutex_unlock(&store->lock);
	return true;
}

void store_count_partial(struct store *store)
{
	atomic_fetch_add(&store->partial, 1);
}

static void count_fetched(struct store_cache *cache, struct store_status *status)
{
	pthread_mutex_lock(&cache->lock);
	status->bucket_fetched = cache->fetched;
	status->bucket_unfetched = cache->unfetched;
	pthread_mutex_unlock(&cache->lock);
}

void store_status(struct store *store, struct store_status *status)
{
	struct store_shown *shown = &store->shown;
	bool is_fresh = look_soon(store, status);

	pthread_mutex_lock(&shown->lock);
	if (is_fresh)
		shown->status = *status;
	else
		*status = shown->status;
	status->bytes += shown->index.bytes;
	status->first = shown->index.first;
	status->last = shown->index.last;
	status->hosts = shown->index.hosts;
	status->series = shown->index.series;
	status->in_others = shown->index.others;
	status->partial = atomic_load(&store->partial);
	status->has_sums = store->fleet;
	if (store->fleet) {
		const struct fleet_sent sent = fleet_sent(store->fleet);

		status->sums_until = sent.until;
		status->sums_lost = sent.lost;
	}
	status->bucket_films = shown->index.bucket_films;
	status->bucket_bytes = shown->index.bucket_bytes;
	pthread_mutex_unlock(&shown->lock);
	count_fetched(&store->cache, status);
	if (store->is_single)
		status_of_single(store, status);
}
