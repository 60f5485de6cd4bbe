// SPDX-License-Identifier: Apache-2.0
/*
 * Filters by the names of functions, answered by the index: a path has the names of all its frames. Names that no path
 * has, as those of functions that were inlined into others, only the films know.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/ask_private.h"

enum {
	FOCUS = 1,
	IGNORED = 2,
	GUESSED = 4, /* of paths only: it, or one above it, was found by a guess */
};

static bool is_by_names(const struct filter *f)
{
	return (f->has_focus || f->has_ignore) && !f->pids.count && !f->tids.count &&
	       !f->comms.count && !f->keeps;
}

int focus_begin(struct asked *a, struct fail *why)
{
	const struct filter *f = a->ask->question ? &a->ask->question->filter : NULL;
	const struct dictionary *d = &a->index->dictionary;
	uint32_t count = dictionary_readable(&d->functions);
	uint8_t wanted, found = 0;

	if (!f || !is_by_names(f))
		return 0;
	a->named = calloc(count + 1ull, 1);
	if (!a->named)
		return fail_errno(why, -ENOMEM, NULL, "cannot ask the store");
	a->named_count = count;
	for (uint32_t i = 1; i < count; i++) {
		const char *name = dictionary_function_at(d, i)->name;

		if (f->has_focus && !regexec(&f->focus, name, 0, NULL, 0))
			a->named[i] |= FOCUS;
		if (f->has_ignore && !regexec(&f->ignore, name, 0, NULL, 0))
			a->named[i] |= IGNORED;
		found |= a->named[i];
	}
	wanted = (f->has_focus ? FOCUS : 0) | (f->has_ignore ? IGNORED : 0);
	if (found == wanted)
		return 0;
	free(a->named);
	a->named = NULL;
	return 0;
}

uint8_t *focus_paths(const struct asked *a, uint32_t paths)
{
	const struct dictionary *d = &a->index->dictionary;
	uint8_t *state = calloc(paths + 1ull, 1);

	for (uint32_t i = 1; state && i < paths; i++) {
		const struct dictionary_path *path = dictionary_path_at(d, i);

		state[i] = state[path->parent];
		state[i] |= path->flags & PATH_GUESS ? GUESSED : 0;
		/* samples without a stack have no function; a function that is newer than the ask is in no path of it */
		if (i != PATH_UNKNOWN && path->function < a->named_count)
			state[i] |= a->named[path->function];
	}
	return state;
}

size_t focus_keep(const struct asked *a, const uint8_t *state, struct cells_reader *cells,
		  size_t from, size_t count, struct cell_sum *sum)
{
	const struct dictionary *d = &a->index->dictionary;
	uint8_t wanted = a->ask->question->filter.has_focus ? FOCUS : 0;
	size_t kept = 0;

	*sum = (struct cell_sum){0};
	for (size_t i = from; i < from + count; i++) {
		uint32_t path = (uint32_t)cells->path.at[i];
		uint64_t samples = cells->samples.at[i];

		if ((state[path] & (FOCUS | IGNORED)) != wanted)
			continue;
		sum->samples += samples;
		sum->total += cells->value.at[i];
		if (path == PATH_UNKNOWN || dictionary_path_at(d, path)->is_truncated)
			sum->truncated += samples;
		sum->guessed += state[path] & GUESSED ? samples : 0;
		cells->path.at[from + kept] = path;
		cells->value.at[from + kept++] = cells->value.at[i];
	}
	sum->cells = (uint32_t)kept;
	return kept;
}
