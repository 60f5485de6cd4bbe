// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/starts.h"

#include <stdlib.h>

#include "base/owned.h"
#include "base/vec.h"

/* As many are kept of the last time, and of the time before. */
#define STARTS_MAX 32768

/* The most requests that are kept. */
#define KEPT_MAX 65536

/* How many ticks a goroutine has, once its request is over, to show that it works for others. */
#define TICKS_AFTER 2

struct kept {
	struct requests_line line;
	uint64_t served;
	unsigned int ticks;
	void *kept;
};

struct requests_starts {
	requests_starts_release *release;
	void *context;
	struct map recent, before; /* struct requests_start */
	vec(struct kept) all;
};

struct requests_starts *requests_starts_new(requests_starts_release *release, void *context)
{
	struct requests_starts *starts = calloc(1, sizeof(*starts));

	if (starts) {
		starts->release = release;
		starts->context = context;
	}
	return starts;
}

void requests_starts_free(struct requests_starts *starts)
{
	if (!starts)
		return;
	requests_starts_flush(starts);
	owned_free(&starts->recent);
	owned_free(&starts->before);
	vec_free(&starts->all);
	free(starts);
}

/* -- goroutines -------------------------------------------------------------------------------- */

static struct requests_start *find(struct requests_starts *starts, uint64_t goroutine)
{
	struct requests_start *start = owned_get(&starts->recent, goroutine);

	if (start)
		return start;
	start = owned_get(&starts->before, goroutine);
	/* what is asked for stays */
	if (start && map_put(&starts->recent, goroutine, (uintptr_t)start))
		map_remove(&starts->before, goroutine);
	return start;
}

void requests_starts_add(struct requests_starts *starts, const struct requests_start *start)
{
	struct requests_start *known = find(starts, start->goroutine);

	if (known) {
		known->handles |= start->handles;
		return;
	}
	if (starts->recent.count >= STARTS_MAX) {
		owned_free(&starts->before);
		starts->before = starts->recent;
		starts->recent = (struct map){0};
	}
	known = owned_make(&starts->recent, start->goroutine, sizeof(*known), STARTS_MAX);
	if (known)
		*known = *start;
}

const struct requests_start *requests_starts_find(struct requests_starts *starts,
						  uint64_t goroutine)
{
	return find(starts, goroutine);
}

bool requests_starts_made(struct requests_starts *starts, const struct requests_line *line,
			  uint64_t served)
{
	bool may = served;

	for (uint32_t i = 0; i < line->count; i++) {
		struct requests_start *start = find(starts, line->goroutines[i]);

		if (!start)
			return false;
		start->lasts |= start->served && start->served != served;
		may &= !start->lasts;
	}
	for (uint32_t i = 0; may && i < line->count; i++)
		find(starts, line->goroutines[i])->served = served;
	return may;
}

/* -- what is kept ------------------------------------------------------------------------------ */

bool requests_starts_keep(struct requests_starts *starts, const struct requests_line *line,
			  uint64_t served, void *kept)
{
	const struct kept what = {.line = *line, .served = served, .kept = kept};

	return starts->all.count < KEPT_MAX && vec_push(&starts->all, what);
}

bool requests_starts_has_kept(const struct requests_starts *starts)
{
	return starts->all.count;
}

static void release_one(struct requests_starts *starts, const struct kept *kept)
{
	bool is_right = true;

	for (uint32_t i = 0; i < kept->line.count; i++) {
		const struct requests_start *start = find(starts, kept->line.goroutines[i]);

		is_right &= start && !start->lasts;
	}
	starts->release(starts->context, kept->kept, is_right);
}

void requests_starts_tick(struct requests_starts *starts,
			  bool (*is_served)(void *context, uint64_t number), void *context)
{
	size_t rest = 0;

	for (size_t i = 0; i < starts->all.count; i++) {
		struct kept kept = starts->all.at[i];

		kept.ticks += !is_served(context, kept.served);
		if (kept.ticks < TICKS_AFTER)
			starts->all.at[rest++] = kept;
		else
			release_one(starts, &kept);
	}
	starts->all.count = rest;
}

void requests_starts_flush(struct requests_starts *starts)
{
	vec_foreach (&starts->all, kept)
		release_one(starts, kept);
	starts->all.count = 0;
}
