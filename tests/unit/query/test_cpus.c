// SPDX-License-Identifier: Apache-2.0
/* Samples grouped by the CPU that each was made on. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "film_build.h"
#include "query/diff.h"
#include "query/report.h"

enum {
	UNKNOWN = 0,
	CPU_0 = 1,
	CPU_11 = 12,
};

static void sample(struct film_build *b, uint64_t ms, uint32_t thread, const char *stack,
		   uint64_t value, uint16_t cpu)
{
	b->end = FILM_BUILD_START + ms * 1000000;
	film_sample_row(b->w, b->event,
			&(struct film_sample){
				.time = b->end,
				.value = value,
				.thread = thread,
				.stack = film_build_stack(b, stack),
				.cpu = cpu,
			});
}

/* known: a factor of the numbers of CPUs; 0: the film does not have them. */
static struct film *film_of(uint16_t known)
{
	struct film_build b;
	uint32_t web, worker;

	film_build_begin(&b, "on-cpu", "ns");
	web = film_build_thread(&b, 10, "web", 10, "web");
	worker = film_build_thread(&b, 10, "web", 11, "worker");
	sample(&b, 0, web, "main;parse", 1, CPU_0 * known);
	sample(&b, 10, web, "main;parse", 2, CPU_11 * known);
	sample(&b, 20, worker, "main;work", 4, CPU_11 * known);
	sample(&b, 30, worker, "main;work", 8, CPU_11 * known);
	sample(&b, 40, worker, "", 16, CPU_0 * known);
	sample(&b, 50, web, "main", 32, UNKNOWN);
	return film_build_open(&b);
}

static struct question by(const char *what)
{
	struct question q = {0};

	assert_int_equal(question_parse(&q, QUESTION_BY, what, NULL), 0);
	return q;
}

static void node_is(const struct report *report, const char *path, uint64_t self, uint64_t total)
{
	const struct flame_node *node = answer_node(&report->flame, path);

	if (!node)
		fail_msg("no node %s", path);
	assert_int_equal(node->self, self);
	assert_int_equal(node->total, total);
}

static void test_groups(void **state)
{
	static const struct {
		const char *name;
		uint64_t total;
	} wanted[] = {{"[unknown CPU]", 32}, {"[CPU 0]", 17}, {"[CPU 11]", 14}};
	const size_t count = sizeof(wanted) / sizeof(wanted[0]);
	struct question q = by("cpu");
	struct film *film = film_of(1);
	struct report report;

	(void)state;
	assert_int_equal(report_make(film, &q, false, &report, NULL), 0);
	answer_check(&report.flame, &report.functions);
	assert_int_equal(report.view.total, 63);
	assert_int_equal(report.view.samples, 6);
	assert_int_equal(report.view.stacks.complete, 5);
	assert_int_equal(report.groups.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(report.groups.at[i].cpu->name, wanted[i].name);
		assert_int_equal(report.groups.at[i].total, wanted[i].total);
		assert_null(report.groups.at[i].process);
	}
	node_is(&report, "[CPU 11];main;work", 12, 12);
	node_is(&report, "[CPU 11];main;parse", 2, 2);
	node_is(&report, "[CPU 0];[unknown]", 16, 16);
	node_is(&report, "[unknown CPU];main", 32, 32);
	report_free(&report);
	film_free(film);
}

static void test_within_threads(void **state)
{
	struct question q = by("thread,cpu");
	struct film *film = film_of(1);
	struct report report;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(report_make(film, &q, false, &report, NULL), 0);
	answer_check(&report.flame, &report.functions);
	assert_int_equal(report.groups.count, 5);
	vec_foreach (&report.groups, group) {
		assert_non_null(group->thread);
		assert_non_null(group->cpu);
		sum += group->total;
	}
	assert_int_equal(sum, report.view.total);
	node_is(&report, "[thread] worker (11);[CPU 11];main;work", 12, 12);
	report_free(&report);
	film_free(film);
}

/* Each image has a row for each CPU, and CPUs themselves have none. */
static void test_images(void **state)
{
	static const struct {
		const char *cpu, *image;
		uint64_t total;
	} wanted[] = {{"[unknown CPU]", "server", 32},
		      {"[CPU 0]", "[unknown]", 16},
		      {"[CPU 11]", "server", 14},
		      {"[CPU 0]", "server", 1}};
	const size_t count = sizeof(wanted) / sizeof(wanted[0]);
	struct film *film = film_of(1);
	struct report report;
	struct question q;

	(void)state;
	for (int by_process = 0; by_process < 2; by_process++) {
		q = by(by_process ? "process,cpu,image" : "image,cpu");
		assert_int_equal(report_make(film, &q, false, &report, NULL), 0);
		assert_int_equal(report.groups.count, count);
		for (size_t i = 0; i < count; i++) {
			const struct group *group = &report.groups.at[i];

			assert_string_equal(group->cpu->name, wanted[i].cpu);
			assert_string_equal(group->image->name, wanted[i].image);
			assert_int_equal(group->total, wanted[i].total);
			assert_int_equal(group->self, wanted[i].total);
			assert_true(by_process == !!group->process);
		}
		report_free(&report);
	}
	film_free(film);
}

static void test_some_samples(void **state)
{
	struct question q = by("cpu");
	struct film *film = film_of(1);
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "^work$", NULL), 0);
	assert_int_equal(report_make(film, &q, false, &report, NULL), 0);
	assert_int_equal(report.groups.count, 1);
	assert_string_equal(report.groups.at[0].cpu->name, "[CPU 11]");
	assert_int_equal(report.groups.at[0].total, 12);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_films_that_do_not_say(void **state)
{
	struct question q = by("cpu");
	struct film *film = film_of(0), *other = film_of(1);
	struct report report;
	struct diff diff;
	struct fail why = {0};

	(void)state;
	assert_int_equal(report_make(film, &q, false, &report, &why), -EINVAL);
	assert_non_null(strstr(why.what, "does not say on which CPUs"));
	report_free(&report);
	for (int side = 0; side < 2; side++) {
		why = (struct fail){0};
		assert_int_equal(
			diff_make(side ? film : other, side ? other : film, &q, &diff, &why),
			-EINVAL);
		assert_non_null(strstr(why.what, "does not say on which CPUs"));
		diff_free(&diff);
	}
	film_free(film);
	film_free(other);
}

static void test_nothing_selected(void **state)
{
	struct question q = by("cpu");
	struct film *film = film_of(1);
	struct report report;

	(void)state;
	assert_int_equal(question_parse(&q, QUESTION_COMM, "nobody", NULL), 0);
	assert_int_equal(report_make(film, &q, false, &report, NULL), 0);
	assert_int_equal(report.groups.count, 0);
	assert_int_equal(report.view.total, 0);
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static void test_diff(void **state)
{
	struct question q = by("cpu");
	struct film *before = film_of(1), *now = film_of(2);
	struct diff diff;
	const struct flame_node *node;

	(void)state;
	assert_int_equal(diff_make(before, now, &q, &diff, NULL), 0);
	/* what ran on CPU 11 ran on CPU 23 then */
	node = answer_node(&diff.flame, "[CPU 23];main;work");
	assert_non_null(node);
	assert_int_equal(node->total, 12);
	assert_int_equal(node->before_total, 0);
	node = answer_node(&diff.flame, "[CPU 11];main;work");
	assert_non_null(node);
	assert_int_equal(node->total, 0);
	assert_int_equal(node->before_total, 12);
	node = answer_node(&diff.flame, "[unknown CPU];main");
	assert_non_null(node);
	assert_int_equal(node->total, node->before_total);
	diff_free(&diff);
	film_free(before);
	film_free(now);
}

/* What is not of samples, and what only has another meaning. */
static void test_other_events(void **state)
{
	struct question q = by("cpu");
	struct film *film = film_build_small_calls();
	struct report report;
	struct fail why = {0};

	(void)state;
	assert_int_equal(report_make(film, &q, false, &report, &why), -EINVAL);
	assert_non_null(strstr(why.what, "calls has no samples"));
	report_free(&report);
	film_free(film);
	film = film_of(1);
	why = (struct fail){0};
	q = by("cpu,wait");
	assert_int_equal(report_make(film, &q, false, &report, &why), -EINVAL);
	assert_non_null(strstr(why.what, "on-cpu has no waits"));
	report_free(&report);
	film_free(film);
}

static void test_names(void **state)
{
	char name[NAME_CPU_SIZE];
	uint32_t number;

	(void)state;
	assert_string_equal(name_of_cpu(UINT16_MAX, name), "[CPU 65534]");
	assert_true(name_cpu_number(name, &number));
	assert_int_equal(number, 65534);
	assert_string_equal(name_of_cpu(0, name), "[unknown CPU]");
	assert_false(name_cpu_number(name, &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_within_threads),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_some_samples),
		cmocka_unit_test(test_films_that_do_not_say),
		cmocka_unit_test(test_nothing_selected),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_other_events),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
