// SPDX-License-Identifier: Apache-2.0
#include "show/call_long.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/*
 * The open calls of one stack of one thread, outermost first: those that were passed on come first.
 */
struct track {
	vec(struct call_line) open; /* their values are copies, which are owned */
	size_t passed;
};

struct call_long {
	uint64_t min_time;
	struct call_lines *to;
	struct map tracks; /* tid << 32 | lane -> struct track * */
};

int call_long_new(uint64_t min_time, struct call_lines *to, struct call_long **result)
{
	*result = calloc(1, sizeof(**result));
	if (!*result)
		return -ENOMEM;
	(*result)->min_time = min_time;
	(*result)->to = to;
	return 0;
}

static void cut(struct track *track, size_t depth)
{
	while (track->open.count > depth)
		free((char *)(uintptr_t)track->open.at[--track->open.count].values);
	if (track->passed > track->open.count)
		track->passed = track->open.count;
}

void call_long_free(struct call_long *filter)
{
	uint64_t key, track;
	size_t i = 0;

	if (!filter)
		return;
	while (map_next(&filter->tracks, &i, &key, &track)) {
		cut((struct track *)(uintptr_t)track, 0);
		vec_free(&((struct track *)(uintptr_t)track)->open);
		free((void *)(uintptr_t)track);
	}
	map_free(&filter->tracks);
	free(filter);
}

static struct track *track_of(struct call_long *filter, uint64_t key)
{
	const uint64_t *known = map_get(&filter->tracks, key);
	struct track *track;

	if (known)
		return (struct track *)(uintptr_t)*known;
	track = calloc(1, sizeof(*track));
	if (track && !map_put(&filter->tracks, key, (uintptr_t)track)) {
		free(track);
		track = NULL;
	}
	return track;
}

/* Threads come and go: one of which nothing is open is forgotten. */
static void forget(struct call_long *filter, uint64_t key, struct track *track)
{
	map_remove(&filter->tracks, key);
	vec_free(&track->open);
	free(track);
}

/*
 * Passes on the beginnings of all that has lasted long enough at that time: the outer ones began
 * first.
 */
static int pass_begun(struct call_long *filter, struct track *track, const struct call_line *line)
{
	int err = 0;

	while (!err && track->passed < track->open.count) {
		struct call_line begun = track->open.at[track->passed];

		/* no name: its beginning was not seen */
		if (begun.name && line->time - begun.time < filter->min_time)
			break;
		begun.comm = line->comm;
		track->passed++;
		err = begun.name ? call_lines_add(filter->to, &begun) : 0;
	}
	return err;
}

static int begin(struct call_long *filter, struct track *track, const struct call_line *line)
{
	cut(track, line->depth);
	while (track->open.count < line->depth)
		if (!vec_push(&track->open, (struct call_line){0}))
			return -ENOMEM;
	if (!vec_push(&track->open, *line))
		return -ENOMEM;
	if (line->values)
		vec_last(&track->open)->values = strdup(line->values);
	return pass_begun(filter, track, line);
}

static int end(struct call_long *filter, struct track *track, const struct call_line *line)
{
	bool is_known, is_long;
	int err;

	cut(track, line->depth + 1u);
	err = pass_begun(filter, track, line);
	is_known = track->open.count == line->depth + 1u && vec_last(&track->open)->name;
	is_long =
		is_known ? track->passed == track->open.count : line->duration >= filter->min_time;
	cut(track, line->depth);
	return err || !is_long ? err : call_lines_add(filter->to, line);
}

int call_long_add(struct call_long *filter, const struct call_line *line)
{
	uint64_t key = (uint64_t)line->tid << 32 | line->lane;
	struct track *track;
	int err;

	if (line->kind == CALL_GAP)
		return call_lines_add(filter->to, line);
	track = track_of(filter, key);
	if (!track)
		return -ENOMEM;
	err = line->kind == CALL_BEGINS ? begin(filter, track, line) : end(filter, track, line);
	if (!track->open.count)
		forget(filter, key, track);
	return err;
}
