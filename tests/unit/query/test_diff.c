// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "film_build.h"
#include "query/diff.h"

static struct film *film_of(uint8_t build, uint32_t pid, const char *const *stacks,
			    const uint64_t *values)
{
	struct film_build b;
	uint32_t thread;

	film_build_begin(&b, "on-cpu", "ns");
	b.build = build;
	thread = film_build_thread(&b, pid, "server", pid, "server");
	for (; *stacks; stacks++)
		film_build_sample(&b, 1, thread, *stacks, *values++);
	return film_build_open(&b);
}

static void growth_is(const struct diff *diff, const char *name, double self, double total)
{
	const struct function *f = answer_function(&diff->functions, name);

	if (!f)
		fail_msg("no function %s", name);
	assert_true(fabs(diff_self_growth(diff, f) - self) < 1e-9);
	assert_true(fabs(diff_total_growth(diff, f) - total) < 1e-9);
}

static void compare(struct film *before, struct film *now, const struct question *q,
		    struct diff *diff)
{
	struct fail why = {0};

	if (diff_make(before, now, q, diff, &why)) {
		fail_print(&why);
		fail_msg("no diff");
	}
	answer_check(&diff->flame, &diff->functions);
	assert_true(diff->flame.is_diff);
}

static void test_shares(void **state)
{
	const char *const stacks[] = {"main;same", "main;grew", "main;went", NULL};
	const char *const later[] = {"main;same", "main;grew", "main;came", NULL};
	struct film *before = film_of(1, 1, stacks, (uint64_t[]){100, 50, 50});
	struct film *now = film_of(1, 2, later, (uint64_t[]){5, 4, 1});
	struct question q = {0};
	struct diff diff;

	(void)state;
	compare(before, now, &q, &diff);
	growth_is(&diff, "same", 0, 0);
	growth_is(&diff, "grew", 0.15, 0.15);
	growth_is(&diff, "went", -0.25, -0.25);
	growth_is(&diff, "came", 0.1, 0.1);
	growth_is(&diff, "main", 0, 0);
	/* furthest first */
	assert_string_equal(diff.functions.at[0].label->name, "went");
	assert_string_equal(diff.functions.at[1].label->name, "grew");
	/* amounts stay each film's own in the table, and are scaled in the flame */
	assert_int_equal(answer_function(&diff.functions, "same")->self[TREE_BEFORE], 100);
	assert_int_equal(answer_node(&diff.flame, "main;same")->before_self, 5);
	assert_int_equal(diff.flame.nodes[0].before_total, 10);
	assert_int_equal(diff.flame.nodes[0].total, 10);
	diff_free(&diff);
	film_free(before);
	film_free(now);
}

/* Rounding loses nothing: three thirds of ten are ten. */
static void test_scaling_adds_up(void **state)
{
	const char *const stacks[] = {"a", "b", "c", NULL};
	const char *const later[] = {"d", NULL};
	struct film *before = film_of(1, 1, stacks, (uint64_t[]){1, 1, 1});
	struct film *now = film_of(1, 1, later, (uint64_t[]){10});
	struct question q = {0};
	struct diff diff;

	(void)state;
	compare(before, now, &q, &diff);
	assert_int_equal(diff.flame.nodes[0].before_total, 10);
	diff_free(&diff);

	/* the largest numbers there are */
	film_free(before);
	film_free(now);
	before = film_of(1, 1, stacks, (uint64_t[]){1ull << 62, 1ull << 62, 1});
	now = film_of(1, 1, later, (uint64_t[]){UINT64_MAX});
	compare(before, now, &q, &diff);
	assert_true(diff.flame.nodes[0].before_total == UINT64_MAX);
	diff_free(&diff);
	film_free(before);
	film_free(now);
}

static void test_what_is_the_same(void **state)
{
	const char *const stacks[] = {"lib!+10", "lib!name", NULL};
	struct film *before = film_of(1, 100, stacks, (uint64_t[]){1, 1});
	struct film *now = film_of(2, 200, stacks, (uint64_t[]){1, 1});
	struct question q = {0};
	struct diff diff;

	(void)state;
	q.shape.by_process = true;
	compare(before, now, &q, &diff);
	/* a name is the same in another build, a place is not; nor matter process numbers */
	growth_is(&diff, "name", 0, 0);
	assert_int_equal(diff.functions.count, 3);
	assert_int_equal(answer_node(&diff.flame, "server;name")->before_total, 1);
	diff_free(&diff);
	compare(now, now, &q, &diff);
	assert_int_equal(diff.functions.count, 2);
	growth_is(&diff, "lib+0x10", 0, 0);
	diff_free(&diff);
	film_free(before);
	film_free(now);
}

/* A function without a name is the same in the same build, wherever in it the samples fell. */
static void test_places(void **state)
{
	const char *const stacks[] = {"lib!+1210-1200", "lib!+1340", NULL};
	const char *const later[] = {"lib!+1234-1200", "lib!+1344", NULL};
	struct film *before = film_of(1, 1, stacks, (uint64_t[]){1, 3});
	struct film *now = film_of(1, 2, later, (uint64_t[]){1, 1});
	struct film *other = film_of(2, 3, later, (uint64_t[]){1, 1});
	struct question q = {0};
	struct diff diff;

	(void)state;
	compare(before, now, &q, &diff);
	assert_int_equal(diff.functions.count, 3);
	growth_is(&diff, "lib+0x1200", 0.25, 0.25);
	growth_is(&diff, "lib+0x1340", -0.75, -0.75);
	growth_is(&diff, "lib+0x1344", 0.5, 0.5);
	diff_free(&diff);
	compare(now, other, &q, &diff);
	assert_int_equal(diff.functions.count, 4);
	diff_free(&diff);
	film_free(before);
	film_free(now);
	film_free(other);
}

static void test_empty_sides(void **state)
{
	const char *const stacks[] = {"a", NULL};
	const char *const none[] = {NULL};
	struct film *some = film_of(1, 1, stacks, (uint64_t[]){7});
	struct film *empty = film_of(1, 1, none, NULL);
	struct question q = {0};
	struct diff diff;

	(void)state;
	compare(empty, some, &q, &diff);
	growth_is(&diff, "a", 1, 1);
	diff_free(&diff);
	compare(some, empty, &q, &diff);
	growth_is(&diff, "a", -1, -1);
	diff_free(&diff);
	compare(empty, empty, &q, &diff);
	assert_int_equal(diff.functions.count, 0);
	diff_free(&diff);
	film_free(some);
	film_free(empty);
}

static void test_other_events(void **state)
{
	const char *const stacks[] = {"a", NULL};
	struct film *now = film_of(1, 1, stacks, (uint64_t[]){7}), *before;
	struct question q = {0};
	struct fail why = {0};
	struct film_build b;
	struct diff diff;

	(void)state;
	film_build_begin(&b, "mem-alloc", "bytes");
	before = film_build_open(&b);
	assert_int_equal(diff_make(before, now, &q, &diff, &why), -ENOENT);
	diff_free(&diff);
	film_free(before);
	film_build_begin(&b, "on-cpu", "count");
	before = film_build_open(&b);
	assert_int_equal(diff_make(before, now, &q, &diff, &why), -EINVAL);
	diff_free(&diff);
	film_free(before);
	film_free(now);
}

/* Twenty functions in turn, a hundred times. known: what the writer remembers, 0: all. */
static struct film *film_of_rounds(size_t known)
{
	struct film_build b;
	uint32_t thread;
	char stack[128];

	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 7, "server", 7, "server");
	if (known)
		film_build_forget(&b, known);
	for (unsigned int i = 0; i < 2000; i++) {
		snprintf(stack, sizeof(stack), "main;libc!work_%u@a.c:%u;libc!+%x-%x%s", i % 20,
			 i % 20, 0x1000 * (i % 20) + 8, 0x1000 * (i % 20), i % 3 ? "" : ";py!leaf");
		film_build_sample(&b, i, thread, stack, 1 + i % 20);
	}
	return film_build_open(&b);
}

/* What a writer has forgotten and written again is the same thing in all answers. */
static void test_rows_that_stand_twice(void **state)
{
	const struct shape shapes[] = {{0},
				       {.lines = true},
				       {.by_process = true},
				       {.by_process = true, .by_thread = true}};
	struct film *before = film_of_rounds(0), *now = film_of_rounds(8);

	(void)state;
	assert_true(now->function_count > 10 * before->function_count);
	assert_true(now->frame_count > 10 * before->frame_count);
	assert_true(now->stack_count > 10 * before->stack_count);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct question q = {.shape = shapes[i]};
		struct diff diff;

		compare(before, now, &q, &diff);
		for (size_t n = 0; n < diff.functions.count; n++) {
			const struct function *f = &diff.functions.at[n];

			assert_int_equal(f->self[TREE_NOW], f->self[TREE_BEFORE]);
			assert_int_equal(f->total[TREE_NOW], f->total[TREE_BEFORE]);
		}
		for (uint32_t n = 0; n < diff.flame.count; n++) {
			const struct flame_node *node = &diff.flame.nodes[n];

			assert_int_equal(node->self, node->before_self);
			assert_int_equal(node->total, node->before_total);
		}
		/* main, twenty that work, twenty without a name, leaf */
		assert_int_equal(diff.functions.count, 42);
		diff_free(&diff);
	}
	film_free(before);
	film_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_scaling_adds_up),
		cmocka_unit_test(test_what_is_the_same),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_empty_sides),
		cmocka_unit_test(test_other_events),
		cmocka_unit_test(test_rows_that_stand_twice),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
