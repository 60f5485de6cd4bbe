// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <string.h>

#include "answers.h"
#include "ask_calls.h"
#include "query/calls/pass.h"

static void test_tree(void **state)
{
	struct film *film = film_build_small_calls();
	struct question q = {.is_raw = true};
	const struct function *f;
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_int_equal(report.view.samples, 5);
	assert_int_equal(report.view.film_samples, 5);
	assert_int_equal(report.view.stacks.complete, 5);
	assert_int_equal(report.view.total, 190000);
	assert_int_equal(report.view.calls->subtracted, 0);
	assert_node(&report, "main", 100000, 50000);
	assert_node(&report, "main;parse", 50000, 20000);
	assert_node(&report, "main;parse;read", 30000, 30000);
	assert_node(&report, "work", 90000, 90000);
	f = assert_function(&report, "parse", 50000, 20000, 2);
	assert_int_equal(f->calls[TREE_NOW]->min, 10000);
	assert_int_equal(f->calls[TREE_NOW]->max, 40000);
	assert_int_equal(call_stats_average(f->calls[TREE_NOW]), 25000);
	assert_int_equal(function_on_cpu(f, TREE_NOW), 30000);
	f = assert_function(&report, "work", 90000, 90000, 1);
	assert_int_equal(f->calls[TREE_NOW]->open, 1);
	assert_int_equal(f->calls[TREE_NOW]->measured, 0);
	report_free(&report);
	film_free(film);
}

/*
 * read() costs its callers 1,000 ns, each parse() 1,000 and what is in it; 100 are within itself.
 */
static void test_cost_is_subtracted(void **state)
{
	struct film *film = film_build_small_calls();
	struct question q = {0};
	const struct function *f;
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_node(&report, "main;parse;read", 29900, 29900);
	assert_node(&report, "main;parse", 50000 - 2 * 100 - 1000, 18900);
	assert_node(&report, "main", 100000 - 3000, 97000 - 48800);
	assert_node(&report, "work", 90000, 90000);
	assert_int_equal(report.view.calls->subtracted, 3000);
	f = assert_function(&report, "parse", 48800, 18900, 2);
	assert_int_equal(f->calls[TREE_NOW]->min, 9900);
	assert_int_equal(f->calls[TREE_NOW]->max, 40000 - 100 - 1000);
	f = assert_function(&report, "main", 97000, 48200, 1);
	assert_int_equal(f->calls[TREE_NOW]->min, 97000);
	report_free(&report);
	film_free(film);
}

/* A cost that was measured too high must not make time negative, or parts larger than the whole. */
static void test_cost_is_too_high(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 1, 100, 150},
		{"leaf", 1, 200, 900},
		{"main", 0, 0, 1000},
	};
	struct film_build b;
	struct film *film;
	struct question q = {0};
	const struct function *f;
	struct report report;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_calls(&b, film_build_thread(&b, 1, "a", 1, "a"), calls, COUNT(calls));
	film_build_cost(&b, "leaf", 10, 20);
	film_build_cost(&b, "leaf", 100, 600); /* what is given last holds */
	film = film_build_open(&b);
	ask(film, &q, &report);
	assert_node(&report, "main;leaf", 550, 550);
	assert_node(&report, "main", 550, 0);
	assert_int_equal(report.view.calls->subtracted, 450);
	f = answer_function(&report.functions, "leaf");
	assert_int_equal(f->calls[TREE_NOW]->min, 0);
	/*
	 * what is a bound and not a measurement is reported: of calls one by one, and of all by
	 * some way
	 */
	assert_int_equal(f->calls[TREE_NOW]->clamped, 1);
	assert_false(f->calls[TREE_NOW]->is_bound);
	f = answer_function(&report.functions, "main");
	assert_int_equal(f->calls[TREE_NOW]->clamped, 1);
	assert_true(f->calls[TREE_NOW]->is_bound);
	/* its one call took no longer than all of its calls */
	assert_int_equal(f->calls[TREE_NOW]->min, 550);
	report_free(&report);
	q.is_raw = true;
	ask(film, &q, &report);
	assert_false(answer_function(&report.functions, "main")->calls[TREE_NOW]->is_bound);
	report_free(&report);
	film_free(film);
}

/* 0 ns that are left when exactly that was measured are no bound, nor is what has no cost. */
static void test_exact_cost_is_no_bound(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 1, 100, 200},	   {"zero", 1, 300, 300}, {"other", 1, 400, 499},
		{"filtered", 1, 500, 510}, {"main", 0, 0, 1000},
	};
	struct film_build b;
	struct film *film;
	struct question q = {0};
	struct report report;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	film_build_calls(&b, film_build_thread(&b, 1, "a", 1, "a"), calls, COUNT(calls));
	film_build_cost(&b, "leaf", 100, 100);
	film_build_cost(&b, "other", 100, 100);
	film_build_cost(&b, "filtered", 100, 100);
	film = film_build_open(&b);
	assert_int_equal(question_parse(&q, QUESTION_IGNORE, "^filtered$", NULL), 0);
	ask(film, &q, &report);
	for (size_t i = 0; i < report.functions.count; i++) {
		const struct function *f = &report.functions.at[i];
		bool is_other = !strcmp(f->label->name, "other");

		assert_int_equal(f->calls[TREE_NOW] && f->calls[TREE_NOW]->is_bound, is_other);
		assert_int_equal(f->calls[TREE_NOW] && f->calls[TREE_NOW]->clamped, is_other);
	}
	assert_node(&report, "main;leaf", 0, 0);
	assert_node(&report, "main;other", 0, 0);
	question_free(&q);
	report_free(&report);
	film_free(film);
}

static void test_lost_callers(void **state)
{
	static const struct film_build_call calls[] = {
		/* its caller, at depth 1, was lost between this and the next call of main() */
		{"leaf", 2, 100, 200},
		{"leaf", 2, 300, 350},
		{"other", 1, 500, 600, 0, FILM_CALL_GAP},
		{"main", 0, 0, 1000},
		/* nothing was lost behind this: its callers were not kept */
		{"deep", 3, 1100, 1200},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_node(&report, "main;[lost call];leaf", 150, 150);
	assert_node(&report, "main;[lost call]", 150, 0);
	assert_node(&report, "main;other", 100, 100);
	assert_node(&report, "main", 1000, 750);
	assert_node(&report, "[call not kept];deep", 100, 100);
	assert_int_equal(report.view.stacks.truncated, 3);
	assert_int_equal(report.view.stacks.complete, 2);
	assert_string_equal(report.view.stacks.reasons.at[0].words, "caller lost");
	assert_function(&report, "[lost call]", 150, 0, 0);
	report_free(&report);
	film_free(film);
}

/* A call of the right depth that does not contain another did not make it. */
static void test_callers_must_contain(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 1, 100, 200},
		{"main", 0, 300, 400, 0, FILM_CALL_GAP},
		/* overlaps: no stack can do that */
		{"odd", 1, 450, 550},
		{"main", 0, 500, 600},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_node(&report, "main", 200, 200);
	assert_node(&report, "[lost call];leaf", 100, 100);
	assert_node(&report, "[call not kept];odd", 100, 100);
	report_free(&report);
	film_free(film);
}

/* A record tells of losses of its whole thread, also of its other stacks. */
static void test_gaps_are_the_thread_s(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 1, 100, 200},
		{"handler", 0, 300, 400, 0, FILM_CALL_GAP, .lane = 1},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_node(&report, "[lost call];leaf", 100, 100);
	report_free(&report);
	film_free(film);
}

/*
 * Where paths are too many, the time stays with the callers, and every call is still one of its
 * function.
 */
static void test_too_many_paths(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 2, 200, 300},
		{"middle", 1, 100, 400},
		{"main", 0, 0, 1000},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct filter_kept kept = {.threads = (uint8_t[]){1, 1}};
	struct call_question question = {.kept = &kept, .to = UINT64_MAX};
	struct call_view view = {.frame_count = film->frame_count};
	struct call_stats *leaf;

	(void)state;
	view.of_frame = calloc(film->frame_count, sizeof(struct call_stats *));
	assert_int_equal(call_paths_init(&view.paths), 0);
	view.paths.max = CALL_PATHS_RESERVED + 3;
	assert_int_equal(call_pass(film, 1, &question, &view, NULL), 0);
	assert_int_equal(call_paths_sum(&view.paths, NULL, film->frame_count), 0);
	assert_int_equal(view.no_path, 2);
	assert_int_equal(view.calls, 3);
	/* the root, and main() with all that it called */
	assert_int_equal(view.paths.all.count, 3);
	assert_int_equal(view.paths.all.at[2].self, 1000);
	leaf = view.of_frame[1];
	assert_int_equal(leaf->calls, 1);
	assert_int_equal(leaf->max, 100);
	call_view_free(&view);
	film_free(film);
}

static void test_recursion(void **state)
{
	static const struct film_build_call calls[] = {
		{"f", 3, 400, 500, 50},
		{"g", 2, 300, 600, 60},
		{"f", 1, 200, 800, 70},
		{"f", 0, 0, 1000, 80},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	const struct function *f;
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_node(&report, "f;f;g;f", 100, 100);
	f = assert_function(&report, "f", 1000, 800, 3);
	assert_int_equal(f->calls[TREE_NOW]->waited, 80);
	assert_int_equal(call_stats_average(f->calls[TREE_NOW]), 1700 / 3);
	f = assert_function(&report, "g", 300, 200, 1);
	assert_int_equal(f->calls[TREE_NOW]->waited, 60);
	report_free(&report);
	film_free(film);
}

/*
 * Jumped to, a function ends with the one that it replaced; and a call may take no time that is
 * known.
 */
static void test_tail_calls(void **state)
{
	static const struct film_build_call calls[] = {
		{"tail", 2, 500, 1000}, {"jumps", 1, 100, 1000}, {"main", 0, 0, 1000},
		{"a", 0, 2000, 2000},	{"c", 1, 3000, 3000},	 {"b", 0, 3000, 3000},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_node(&report, "main;jumps;tail", 500, 500);
	assert_node(&report, "main;jumps", 900, 400);
	assert_node(&report, "main", 1000, 100);
	assert_node(&report, "a", 0, 0);
	assert_node(&report, "b;c", 0, 0);
	assert_function(&report, "c", 0, 0, 1);
	report_free(&report);
	film_free(film);
}

/*
 * Calls of a signal handler lie in time within a call of the thread's own stack, but it did not
 * make them.
 */
static void test_lanes_and_threads(void **state)
{
	static const struct film_build_call calls[] = {
		{"handler", 0, 200, 300, .lane = 1},
		{"leaf", 1, 100, 400},
		{"main", 0, 0, 1000},
	};
	struct film_build b;
	struct film *film;
	struct question q = {0};
	struct report report;
	uint32_t first, second;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	first = film_build_thread(&b, 1, "a", 1, "a");
	second = film_build_thread(&b, 2, "b", 2, "b");
	for (size_t i = 0; i < COUNT(calls); i++) {
		film_build_calls(&b, first, &calls[i], 1);
		film_build_calls(&b, second, &calls[i], 1);
	}
	film = film_build_open(&b);
	ask(film, &q, &report);
	assert_node(&report, "main", 2000, 1400);
	assert_node(&report, "main;leaf", 600, 600);
	assert_node(&report, "handler", 200, 200);
	assert_int_equal(report.view.stacks.truncated, 0);
	assert_int_equal(report.view.processes[1], 1100);
	assert_int_equal(report.view.processes[2], 1100);
	report_free(&report);

	q.shape.by_process = q.shape.by_thread = true;
	ask(film, &q, &report);
	assert_node(&report, "b (2);[thread] b (2);main;leaf", 300, 300);
	assert_int_equal(report.groups.count, 2);
	assert_int_equal(report.groups.at[0].samples, 3);
	assert_function(&report, "main", 2000, 1400, 2);
	report_free(&report);

	q.shape.by_process = q.shape.by_thread = false;
	assert_true(vec_push(&q.filter.tids, 2));
	ask(film, &q, &report);
	assert_node(&report, "main", 1000, 700);
	assert_int_equal(report.view.samples, 3);
	assert_int_equal(report.view.film_samples, 6);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_focus_and_ignore(void **state)
{
	struct film *film = film_build_small_calls();
	struct question q = {.is_raw = true};
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "^parse$", NULL), 0);
	ask(film, &q, &report);
	assert_node(&report, "main", 50000, 0);
	assert_node(&report, "main;parse", 50000, 20000);
	assert_null(answer_node(&report.flame, "work"));
	assert_int_equal(report.view.samples, 3);
	assert_function(&report, "main", 50000, 0, 0);
	assert_function(&report, "read", 30000, 30000, 1);
	assert_true(answer_function(&report.functions, "parse")->is_focus);
	assert_false(answer_function(&report.functions, "read")->is_focus);
	report_free(&report);

	assert_int_equal(question_parse(&q, QUESTION_IGNORE, "^read$", NULL), 0);
	ask(film, &q, &report);
	assert_node(&report, "main;parse", 20000, 20000);
	assert_null(answer_function(&report.functions, "read"));
	report_free(&report);
	question_free(&q);
	film_free(film);
}

/* What began before or ends behind the span counts with the part that lies in it. */
static void test_span(void **state)
{
	struct film *film = film_build_small_calls();
	struct question q = {.is_raw = true};
	const struct function *f;
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_FROM, "50us", NULL), 0);
	assert_int_equal(question_parse(&q, QUESTION_TO, "80us", NULL), 0);
	ask(film, &q, &report);
	assert_node(&report, "main", 30000, 10000);
	assert_node(&report, "main;parse", 20000, 5000);
	assert_node(&report, "main;parse;read", 15000, 15000);
	assert_node(&report, "work", 30000, 30000);
	assert_int_equal(report.view.stacks.truncated, 0);
	assert_int_equal(report.view.calls->cut, 4);
	f = assert_function(&report, "read", 15000, 15000, 1);
	assert_int_equal(f->calls[TREE_NOW]->measured, 0);
	assert_int_equal(f->calls[TREE_NOW]->waited, 10000);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_guesses(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 1, 100, 900, 0, FILM_CALL_INFERRED},
		{"leaf", 1, 950, 960},
		{"main", 0, 0, 1000},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	const struct function *f;
	struct report report;

	(void)state;
	ask(film, &q, &report);
	f = assert_function(&report, "leaf", 810, 810, 2);
	assert_int_equal(f->calls[TREE_NOW]->inferred, 1);
	assert_int_equal(f->calls[TREE_NOW]->measured, 2);
	assert_true(f->guess);
	assert_false(answer_function(&report.functions, "main")->guess);
	report_free(&report);
	film_free(film);
}

static void assert_unsure(const struct report *report, const char *name, uint64_t total,
			  uint64_t self)
{
	const struct function *f = answer_function(&report->functions, name);

	assert_int_equal(function_unsure_total(f, TREE_NOW), total);
	assert_int_equal(function_unsure_self(f, TREE_NOW), self);
}

/*
 * A call whose end was not seen was there as long as what it called; the rest may be its caller's
 * time.
 */
static void test_what_is_unsure(void **state)
{
	static const struct film_build_call calls[] = {
		{"leaf", 2, 100, 200},
		{"long", 1, 50, 900, 0, FILM_CALL_INFERRED},
		{"under", 2, 950, 980, 0, FILM_CALL_INFERRED},
		{"over", 1, 940, 990, 0, FILM_CALL_INFERRED},
		{"main", 0, 0, 1000},
		{"real", 0, 1000, 1200},
	};
	static const char *const order[] = {"main", "real", "long", "leaf", "over", "under"};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	struct report report;
	const struct function **rows;

	(void)state;
	ask(film, &q, &report);
	assert_unsure(&report, "main", 0, 0);
	assert_unsure(&report, "leaf", 0, 0);
	assert_unsure(&report, "long", 700, 700);
	assert_unsure(&report, "under", 30, 30);
	assert_unsure(&report, "over", 40, 10);
	rows = functions_in_order(&report.functions, FUNCTIONS_BY_TOTAL);
	assert_non_null(rows);
	for (size_t i = 0; i < COUNT(order); i++)
		assert_string_equal(rows[i]->label->name, order[i]);
	free(rows);
	report_free(&report);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_cost_is_subtracted),
		cmocka_unit_test(test_cost_is_too_high),
		cmocka_unit_test(test_exact_cost_is_no_bound),
		cmocka_unit_test(test_lost_callers),
		cmocka_unit_test(test_callers_must_contain),
		cmocka_unit_test(test_gaps_are_the_thread_s),
		cmocka_unit_test(test_too_many_paths),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_lanes_and_threads),
		cmocka_unit_test(test_focus_and_ignore),
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_what_is_unsure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
