// SPDX-License-Identifier: Apache-2.0

#include "../prelude.h"

#include "answers.h"
#include "ask_calls.h"

void ask(struct film *film, const struct question *q, struct report *report)
{
	struct fail why = {0};

	if (report_make(film, q, false, report, &why)) {
		fail_print(&why);
		fail_msg("no report");
	}
	answer_check(&report->flame, &report->functions);
	assert_int_equal(report->view.total, report->flame.nodes[0].total);
}

struct film *film_of(const struct film_build_call *calls, size_t count)
{
	struct film_build b;

	film_build_begin(&b, "calls", "ns");
	film_build_calls(&b, film_build_thread(&b, 1, "a", 1, "a"), calls, count);
	return film_build_open(&b);
}

void assert_node(const struct report *report, const char *path, uint64_t total, uint64_t self)
{
	const struct flame_node *node = answer_node(&report->flame, path);

	if (!node)
		fail_msg("there is no %s", path);
	assert_int_equal(node->total, total);
	assert_int_equal(node->self, self);
}

const struct function *assert_function(const struct report *report, const char *name,
				       uint64_t total, uint64_t self, uint64_t calls)
{
	const struct function *f = answer_function(&report->functions, name);

	if (!f)
		fail_msg("there is no %s", name);
	assert_int_equal(f->total[TREE_NOW], total);
	assert_int_equal(f->self[TREE_NOW], self);
	if (!calls)
		assert_null(f->calls[TREE_NOW]);
	else
		assert_int_equal(f->calls[TREE_NOW]->calls, calls);
	return f;
}
