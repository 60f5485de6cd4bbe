// SPDX-License-Identifier: Apache-2.0
#include "query/around.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "query/patterns.h"

static int refuse(const struct functions *functions, const char *pattern, struct fail *why)
{
	struct nearest nearest = {.given = pattern};

	vec_foreach (functions, f)
		nearest_offer(&nearest, f->label->name);
	if (nearest.name)
		return fail(why, -ENOENT, NULL, "no function matches '%s'; did you mean '%s'",
			    pattern, nearest.name);
	return fail(why, -ENOENT, "a glob finds parts of names: '*parse*'",
		    "no function matches '%s'", pattern);
}

/* *others: number of other functions that match. 0 or a negative errno with *why filled. */
static int around_find(const struct functions *functions, const char *pattern,
		       const struct function **found, size_t *others, struct fail *why)
{
	struct patterns patterns = {0};
	int err = patterns_add(&patterns, true, pattern, why);

	*found = NULL;
	*others = 0;
	vec_foreach (functions, f) {
		/* a name may have what a glob is made of, as operator* has */
		bool is_meant = !strcmp(f->label->name, pattern);

		if (!err && !is_meant)
			err = patterns_match(&patterns, f->label->name, &is_meant, why);
		if (err || !is_meant)
			continue;
		*others += *found != NULL;
		if (!*found || f->total[TREE_NOW] > (*found)->total[TREE_NOW])
			*found = f;
	}
	patterns_free(&patterns);
	if (err == -ENOMEM)
		return fail_errno(why, err, NULL, "cannot look for '%s'", pattern);
	return err || *found ? err : refuse(functions, pattern, why);
}

int around_of(const struct report *report, const struct function *f, struct around *around,
	      struct fail *why)
{
	*around = (struct around){.of = f};
	if (sandwich_make(&report->flame, f->label->name, f->label->image, &around->sandwich))
		return fail_errno(why, -ENOMEM, NULL, "cannot look around '%s'", f->label->name);
	around->sandwich.callers.title = around->sandwich.callees.title = report->title;
	return 0;
}

int around_make(const struct report *report, const char *pattern, struct around *around,
		struct fail *why)
{
	const struct function *f;
	size_t others;
	int err = around_find(&report->functions, pattern, &f, &others, why);

	*around = (struct around){0};
	if (!err)
		err = around_of(report, f, around, why);
	around->others = others;
	return err;
}

void around_free(struct around *around)
{
	sandwich_free(&around->sandwich);
}
