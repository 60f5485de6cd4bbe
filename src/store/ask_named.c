// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks by the names of their functions, from sums: a function that matches is found once in
 * the dictionary, and a path has it where its own function matches or its parent has it. A parent's
 * number is below its children's, so one pass over the paths is enough. What sums do not
 * have cannot match: functions that were inlined, and an interpreter's own frames.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/ask_private.h"

const char *asked_function_name(const struct asked *a, const struct dictionary *d, uint32_t id,
				char to[BUILD_NAME_SIZE])
{
	const struct dictionary_function *f = dictionary_function_at(d, id);

	if (!f->is_place)
		return f->name;
	return build_names_shown(store_build_names(a->store), dictionary_image_at(d, f->image),
				 f->name, to);
}

/* A byte per function: whether its name matches. Null: no memory. */
static uint8_t *match_functions(const struct asked *a, const struct dictionary *d,
				struct regex *regex)
{
	char name[BUILD_NAME_SIZE];
	uint32_t count = dictionary_readable(&d->functions);
	uint8_t *matches = calloc(count, 1);

	for (uint32_t i = 1; matches && i < count; i++)
		matches[i] = regex_matches(regex, asked_function_name(a, d, i, name));
	return matches;
}

/* A byte per path: whether a function that matches is on it. */
static int match_paths(const struct asked *a, const struct sums_view *view, struct regex *regex,
		       uint8_t **result, struct fail *why)
{
	const struct dictionary *d = view->dictionary;
	size_t paths = view->paths;
	uint8_t *functions = match_functions(a, d, regex), *matches = calloc(paths + 1, 1);

	*result = matches;
	if (!functions || !matches) {
		free(functions);
		return fail_errno(why, -ENOMEM, NULL, "cannot search the names");
	}
	for (size_t i = 1; i < paths; i++) {
		const struct dictionary_path *path = dictionary_path_at(d, (uint32_t)i);

		matches[i] = matches[path->parent] | functions[path->function];
	}
	free(functions);
	return regex_check(regex, why);
}

int asked_keep_named(struct asked *a, const struct sums_view *view, struct fail *why)
{
	const struct filter *filter = &a->ask->question->filter;
	uint8_t *ignored = NULL;
	int err = 0;

	if (filter->focus)
		err = match_paths(a, view, filter->focus, &a->kept, why);
	if (!err && filter->ignore)
		err = match_paths(a, view, filter->ignore, &ignored, why);
	if (!err && ignored) {
		for (size_t i = 0; i < view->paths; i++)
			ignored[i] = !ignored[i] && (!a->kept || a->kept[i]);
		free(a->kept);
		a->kept = ignored;
		ignored = NULL;
	}
	free(ignored);
	return err;
}
