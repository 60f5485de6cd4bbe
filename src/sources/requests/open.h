/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_OPEN_H
#define SOURCES_REQUESTS_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/*
 * Which requests are served just now, by a key: the thread that received them, or the id that they
 * carry. Where a key has exactly one, a request that is made under it is made for that one.
 */
struct requests_open {
	struct map counts;
	struct map
		sums; /* of the numbers of its requests, each bit by itself: with one, it is it */
	struct map changed; /* when one was added last, or ended beside others; ns */
};

static inline void requests_open_change(struct requests_open *open, uint64_t key, uint64_t number,
					int64_t by)
{
	uint64_t *count = map_get(&open->counts, key), *sum = map_get(&open->sums, key);
	uint64_t now = (count ? *count : 0) + (uint64_t)by;

	if (!now || (!count && by < 0)) {
		map_remove(&open->counts, key);
		map_remove(&open->sums, key);
		return;
	}
	number ^= sum ? *sum : 0;
	/* one without the other would name a wrong one */
	if (!map_put(&open->counts, key, now) || !map_put(&open->sums, key, number)) {
		map_remove(&open->counts, key);
		map_remove(&open->sums, key);
	}
}

/* The same at a time, ns, so that it is known since when a key has what it has. */
static inline void requests_open_change_at(struct requests_open *open, uint64_t key,
					   uint64_t number, int64_t by, uint64_t time)
{
	uint64_t *changed = map_get(&open->changed, key);

	requests_open_change(open, key, number, by);
	if (!map_get(&open->counts, key))
		map_remove(&open->changed, key);
	else if (!changed)
		/* without memory it is not known since when */
		(void)!map_put(&open->changed, key, time);
	else if (*changed < time)
		*changed = time;
}

/* The one that a key has had, and no other one, since a time; 0: it has not. */
static inline uint64_t requests_open_since(const struct requests_open *open, uint64_t key,
					   uint64_t since)
{
	const uint64_t *count = map_get(&open->counts, key), *sum = map_get(&open->sums, key);
	const uint64_t *changed = map_get(&open->changed, key);

	return count && sum && changed && *count == 1 && *changed <= since ? *sum : 0;
}

/* How many a key has; if it is one, *number is that one's. */
static inline uint64_t requests_open_find(const struct requests_open *open, uint64_t key,
					  uint64_t *number)
{
	const uint64_t *count = map_get(&open->counts, key), *sum = map_get(&open->sums, key);

	*number = count && sum && *count == 1 ? *sum : 0;
	return count ? *count : 0;
}

static inline void requests_open_free(struct requests_open *open)
{
	map_free(&open->counts);
	map_free(&open->sums);
	map_free(&open->changed);
}

#endif
