// SPDX-License-Identifier: Apache-2.0
#include "cmd/trace_list.h"

#include <stdio.h>

#include "base/text.h"

static const char *const cost_words[] = {
	[PROBE_COST_FAST] = "fast",
	[PROBE_COST_SLOW] = "slow",
};

static const char *const exit_words[] = {
	[PROBE_EXIT_RETURN] = "return",
	[PROBE_EXIT_RET] = "ret",
	[PROBE_EXIT_INFERRED] = "inferred",
};

struct tally {
	size_t traced, refused, by_cost[3];
};

static void print_function(const struct probe_function *f, struct tally *tally)
{
	if (f->refusal != PROBE_ALLOWED) {
		tally->refused++;
		fputs("  -     -         ", stdout);
		text_print_safe(stdout, f->name);
		printf("  (not traced: %s)\n", probe_refusal_words(f->refusal));
		return;
	}
	tally->traced++;
	tally->by_cost[f->cost]++;
	printf("  %-5s %-9s ", cost_words[f->cost], exit_words[f->exit]);
	text_print_safe(stdout, f->name);
	putchar('\n');
}

int trace_list(const struct plan_options *options)
{
	struct plan_options wanted = *options;
	const struct plan_function *functions;
	const struct plan_image *images;
	struct tally tally = {0};
	struct fail why = {0};
	struct plan *plan;
	size_t count, all, i, k;

	wanted.refused_too = true;
	if (plan_new(&wanted, &plan, &why)) {
		fail_print(&why);
		return fail_exit_status(&why);
	}
	images = plan_images(plan, &count);
	functions = plan_functions(plan, &all);
	for (i = 0; i < count; i++) {
		text_print_safe(stdout, images[i].path);
		puts(":\n  COST  EXIT      FUNCTION");
		for (k = 0; k < images[i].functions.count; k++)
			if (!functions[images[i].first + k].is_moved)
				print_function(&images[i].functions.at[k], &tally);
	}
	printf("%zu functions would be traced: %zu fast, %zu slow (several times as dear); "
	       "%zu are left alone\n",
	       tally.traced, tally.by_cost[PROBE_COST_FAST], tally.by_cost[PROBE_COST_SLOW],
	       tally.refused);
	plan_free(plan);
	return 0;
}
