// SPDX-License-Identifier: Apache-2.0
#include "query/calls/paths.h"

#include <errno.h>

const char *const call_mark_names[CALL_MARKS] = {
	[CALL_MARK_LOST] = "[lost call]",
	[CALL_MARK_NOT_KEPT] = "[call not kept]",
	[CALL_MARK_UNKNOWN] = "[caller not known]",
};

int call_paths_init(struct call_paths *paths)
{
	*paths = (struct call_paths){.max = CALL_PATHS_MAX};
	return vec_push(&paths->all, (struct call_path){0}) ? 0 : -ENOMEM;
}

void call_paths_free(struct call_paths *paths)
{
	vec_free(&paths->all);
	map_free(&paths->child_of);
}

uint32_t call_paths_root(struct call_paths *paths, uint32_t group)
{
	if (!vec_push(&paths->all, (struct call_path){.frame = group}))
		return 0;
	return (uint32_t)paths->all.count - 1;
}

static uint32_t new_child(struct call_paths *paths, uint32_t parent, uint32_t frame)
{
	const struct call_path *from = &paths->all.at[parent];
	struct call_path path = {
		.parent = parent,
		.frame = frame,
		.is_focus = from->is_focus,
		.is_ignored = from->is_ignored,
	};

	if (!vec_push(&paths->all, path) ||
	    !map_put(&paths->child_of, (uint64_t)parent << 32 | frame, paths->all.count - 1))
		return 0;
	return (uint32_t)paths->all.count - 1;
}

uint32_t call_paths_child(struct call_paths *paths, uint32_t parent, uint32_t frame, bool *is_new,
			  bool *is_full)
{
	uint32_t last = paths->all.at[parent].last;
	bool is_outermost = !paths->all.at[parent].parent;
	const uint64_t *known = NULL;

	*is_new = *is_full = false;
	if (last && paths->all.at[parent].last_frame == frame)
		return last;
	/* each look-up waits for memory: none where there is nothing to find */
	if (last)
		known = map_get(&paths->child_of, (uint64_t)parent << 32 | frame);
	if (known) {
		last = (uint32_t)*known;
	} else if (paths->all.count + (is_outermost ? 0 : CALL_PATHS_RESERVED) >= paths->max) {
		*is_full = true;
		return 0;
	} else {
		*is_new = true;
		last = new_child(paths, parent, frame);
	}
	paths->all.at[parent].last = last;
	paths->all.at[parent].last_frame = frame;
	return last;
}

static uint64_t times(uint64_t count, uint32_t ns)
{
	uint64_t product;

	return __builtin_mul_overflow(count, ns, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

int call_paths_sum(struct call_paths *paths, const struct call_cost *costs, uint32_t frame_count)
{
	uint32_t count = (uint32_t)paths->all.count;
	uint64_t *below = calloc(count, sizeof(*below)); /* the cost of all calls below a path */

	if (!below)
		return -ENOMEM;
	/* children come first here: total holds what theirs add up to */
	for (uint32_t i = count; i-- > 1;) {
		struct call_path *path = &paths->all.at[i];
		struct call_cost cost = {0};
		uint64_t children = path->total, subtracted, left;

		if (!path->parent)
			continue;
		if (costs && path->frame < frame_count)
			cost = costs[path->frame];
		subtracted = plus(below[i], times(path->calls, cost.own));
		left = path->raw > subtracted ? path->raw - subtracted : 0;
		path->total = left > children ? left : children;
		path->self = path->total - children;
		path->is_bound =
			path->calls && subtracted && (path->raw < subtracted || left < children);
		paths->all.at[path->parent].total += path->total;
		below[path->parent] =
			plus(below[path->parent], plus(below[i], times(path->calls, cost.outer)));
	}
	free(below);
	return 0;
}

int call_paths_walk(const struct call_paths *paths, void (*enter)(void *context, uint32_t path),
		    void (*leave)(void *context, uint32_t path), void *context)
{
	const struct call_path *all = paths->all.at;
	uint32_t count = (uint32_t)paths->all.count, at;
	uint32_t *first = calloc(count, sizeof(*first)), *next = calloc(count, sizeof(*next));
	int err = first && next ? 0 : -ENOMEM;

	/* roots are the children of 0, which is none of the paths */
	for (uint32_t i = count; !err && i-- > 1;) {
		next[i] = first[all[i].parent];
		first[all[i].parent] = i;
	}
	for (at = err ? 0 : first[0]; at;) {
		if (all[at].parent)
			enter(context, at);
		if (first[at]) {
			at = first[at];
			continue;
		}
		for (; at; at = all[at].parent) {
			if (all[at].parent)
				leave(context, at);
			if (next[at])
				break;
		}
		at = at ? next[at] : 0;
	}
	free(first);
	free(next);
	return err;
}
