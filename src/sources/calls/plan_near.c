// SPDX-License-Identifier: Apache-2.0
/* What is said when no function matches, and whether one can come later. */
#include <errno.h>

#include "base/buf.h"
#include "sources/calls/plan_private.h"

/* Words about what was near, not a list of all. */
#define NEAR_MAX 5

/*
 * A library of the parts that has what was asked for, although the program calls none of its
 * functions; null: none.
 */
static const char *has_it_inside(const struct plan *plan, const struct parts *parts)
{
	vec_foreach (&parts->all, part) {
		struct symbol_image file = {.fd = part->fd, .path = part->path, .root = part->root};
		struct probe_question question = {
			.image = &file,
			.symbols = plan->symbols,
			.choice = plan->wanted,
			.own = true,
			.inside = plan_base_name(part->path),
			.exit = plan->options.exit,
		};
		struct probe_functions functions = {0};
		size_t count;

		/* the others are in the plan */
		if (part->fd < 0 || part->is_program ||
		    probe_functions_of(&question, &functions, NULL))
			continue;
		count = functions.count;
		probe_functions_free(&functions);
		if (count)
			return question.inside;
	}
	return NULL;
}

/* Nothing matches: where it is, and else names that are near, help more than the fact. */
int plan_no_match(struct plan *plan, const struct parts *parts, struct fail *why)
{
	const char *library;
	struct buf words = {0};
	const char *pattern = NULL;
	struct choice *all;
	size_t i;

	for (i = 0; i < plan->options.pattern_count; i++)
		if (plan->options.patterns[i].include)
			pattern = plan->options.patterns[i].text;
	if (!plan->images.count)
		return fail(why, -ENOENT, NULL, "%s",
			    plan->options.selection->name_count
				    ? "no process of that name runs"
				    : "there is no program to trace yet");
	if (!pattern || choice_new(&all))
		return fail(why, -ENOENT, "--list shows those that there are",
			    "no function can be traced in %s", plan->images.at[0].path);
	if (plan->left_out.count) {
		choice_free(all);
		return fail(why, -ENOENT, "--list shows why each function is left alone",
			    "what matches '%s' cannot be traced: %s (%s)", pattern,
			    plan->left_out.name, probe_refusal_words(plan->left_out.why));
	}
	library = has_it_inside(plan, parts);
	if (library) {
		choice_free(all);
		return fail(why, -ENOENT, NULL,
			    "no function that %s has or calls matches '%s', but %s has some "
			    "inside: '--inside %s' traces them",
			    plan->images.at[0].path, pattern, library, library);
	}
	vec_foreach (&plan->images, image) {
		struct symbol_image file = plan_symbol_image(image);
		struct probe_question question = {
			.image = &file,
			.symbols = plan->symbols,
			.choice = all,
			.own = true,
			.called = image->is_program,
			.inside = image->is_program ? NULL : plan_base_name(image->path),
		};
		struct probe_functions functions = {0};
		const char *near[NEAR_MAX];
		size_t count;

		if (probe_functions_of(&question, &functions, NULL))
			continue;
		count = probe_near(&functions, pattern, near, NEAR_MAX);
		for (i = 0; i < count && words.count < 200; i++)
			buf_printf(&words, "%s%s", words.count ? ", " : "", near[i]);
		probe_functions_free(&functions);
	}
	choice_free(all);
	buf_put_u8(&words, 0);
	if (words.count > 1 && !words.failed)
		fail(why, -ENOENT, "--list shows those that there are",
		     "no function matches '%s'; near it are: %s", pattern, (char *)words.at);
	else
		fail(why, -ENOENT, "--list shows those that there are",
		     "no function of %s matches '%s'", plan->images.at[0].path, pattern);
	buf_free(&words);
	return -ENOENT;
}

bool plan_may_grow(const struct plan *plan)
{
	const struct selection *selection = plan->options.selection;

	if (plan->options.refused_too)
		return false;
	if (!plan->images.count)
		return selection->name_count || selection->cgroup_count;
	if (selection->tid_count)
		return false;
	if (plan->options.inside_count)
		return true;
	vec_foreach (&plan->images, image) {
		struct symbol_image file = plan_symbol_image(image);

		if (image->is_program && probe_executes(&file))
			return true;
	}
	return false;
}
