// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "film_build.h"

/* The caller frees the report. Returns the film. */
static struct film *ask(struct film *film, struct question *q, struct report *report)
{
	struct fail why = {0};

	if (report_make(film, q, false, report, &why)) {
		fail_print(&why);
		fail_msg("no report");
	}
	answer_check(&report->flame, &report->functions);
	return film;
}

static uint64_t total_with(struct film *film, int option, const char *value, int option2,
			   const char *value2)
{
	struct question q = {0};
	struct report report;
	uint64_t total;

	assert_int_equal(question_parse(&q, option, value, NULL), 0);
	if (option2)
		assert_int_equal(question_parse(&q, option2, value2, NULL), 0);
	ask(film, &q, &report);
	total = report.view.total;
	report_free(&report);
	question_free(&q);
	return total;
}

static void function_is(const struct report *report, const char *name, uint64_t self,
			uint64_t total)
{
	const struct function *f = answer_function(&report->functions, name);

	if (!f)
		fail_msg("no function %s", name);
	assert_int_equal(f->self[TREE_NOW], self);
	assert_int_equal(f->total[TREE_NOW], total);
}

static void node_is(const struct report *report, const char *path, uint64_t self, uint64_t total)
{
	const struct flame_node *node = answer_node(&report->flame, path);

	if (!node)
		fail_msg("no node %s", path);
	assert_int_equal(node->self, self);
	assert_int_equal(node->total, total);
}

static void test_functions(void **state)
{
	struct question q = {0};
	struct report report;
	struct film *film = ask(film_build_small(), &q, &report);

	(void)state;
	assert_int_equal(report.view.total, 51);
	assert_int_equal(report.view.samples, 7);
	assert_int_equal(report.functions.count, 11);
	function_is(&report, "memcpy", 27, 27);
	function_is(&report, "read", 10, 10);
	function_is(&report, "parse", 5, 15);
	function_is(&report, "main", 0, 42);
	/* work called itself: counted once */
	function_is(&report, "work", 0, 27);
	function_is(&report, "libc+0x1234", 4, 4);
	function_is(&report, "sys_read", 3, 3);
	function_is(&report, "[unknown]", 2, 2);
	function_is(&report, "[truncated: unreadable memory]", 0, 3);
	assert_string_equal(report.functions.at[0].label->name, "memcpy");
	assert_string_equal(report.functions.at[0].label->image, "/usr/lib/libc");
	assert_int_equal(answer_function(&report.functions, "sys_read")->label->kind,
			 FILM_FRAME_KERNEL);
	assert_true(answer_function(&report.functions, "helper")->guess);
	assert_false(answer_function(&report.functions, "main")->guess);
	report_free(&report);
	film_free(film);
}

static void test_flame(void **state)
{
	struct question q = {0};
	struct report report;
	struct film *film = ask(film_build_small(), &q, &report);

	(void)state;
	node_is(&report, "", 0, 51);
	node_is(&report, "main", 0, 42);
	node_is(&report, "main;work;memcpy", 20, 20);
	node_is(&report, "main;work;work;memcpy", 7, 7);
	node_is(&report, "[truncated: unreadable memory];helper;sys_read", 3, 3);
	assert_true(answer_node(&report.flame, "[truncated: unreadable memory];helper")->guess);
	assert_string_equal(report.flame.title, "on-cpu, 600.000 ms on host7, 2026-01-02 03:04:05");
	assert_string_equal(report.flame.unit, "ns");
	report_free(&report);
	film_free(film);
}

static void test_account(void **state)
{
	struct question q = {0};
	struct report report;
	struct film *film = ask(film_build_small(), &q, &report);
	const struct view *view = &report.view;

	(void)state;
	assert_int_equal(view->stacks.complete, 5);
	assert_int_equal(view->stacks.truncated, 2);
	assert_int_equal(view->stacks.guessed, 1);
	assert_int_equal(view->stacks.reasons.count, 2);
	assert_string_equal(view->stacks.reasons.at[0].words, "no stack");
	assert_string_equal(view->stacks.reasons.at[1].words, "unreadable memory");
	assert_int_equal(view->losses.count, 1);
	assert_string_equal(view->losses.at[0].words, "ring full");
	assert_int_equal(view->losses.at[0].count, 5);
	report_free(&report);
	film_free(film);
}

static void test_filters(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	assert_int_equal(total_with(film, QUESTION_PID, "10", 0, NULL), 42);
	assert_int_equal(total_with(film, QUESTION_PID, "10,20", 0, NULL), 51);
	assert_int_equal(total_with(film, QUESTION_PID, "99", 0, NULL), 0);
	assert_int_equal(total_with(film, QUESTION_TID, "11,20", 0, NULL), 36);
	assert_int_equal(total_with(film, QUESTION_PID, "10", QUESTION_TID, "20"), 0);
	assert_int_equal(total_with(film, QUESTION_COMM, "worker-*", 0, NULL), 27);
	assert_int_equal(total_with(film, QUESTION_COMM, "web", 0, NULL), 42);
	assert_int_equal(total_with(film, QUESTION_COMM, "db", QUESTION_COMM, "work*"), 36);
	assert_int_equal(total_with(film, QUESTION_FOCUS, "^memcpy$", 0, NULL), 27);
	assert_int_equal(total_with(film, QUESTION_FOCUS, "0x1234", 0, NULL), 4);
	assert_int_equal(total_with(film, QUESTION_IGNORE, "memcpy|truncated", 0, NULL), 21);
	assert_int_equal(total_with(film, QUESTION_FOCUS, "main", QUESTION_IGNORE, "work"), 19);
	assert_int_equal(total_with(film, QUESTION_FROM, "200ms", QUESTION_TO, "0.4s"), 27);
	assert_int_equal(total_with(film, QUESTION_TO, "200ms", 0, NULL), 15);
	assert_int_equal(total_with(film, QUESTION_FROM, "03:04:05.5", 0, NULL), 6);
	film_free(film);
}

static void test_groups(void **state)
{
	struct question q = {0};
	struct report report;
	struct film *film = film_build_small();

	(void)state;
	question_parse(&q, QUESTION_BY, "process", NULL);
	ask(film, &q, &report);
	node_is(&report, "web (10);main;work;memcpy", 20, 20);
	node_is(&report, "web (10)", 0, 42);
	node_is(&report, "db (20);[unknown]", 2, 2);
	assert_int_equal(answer_node(&report.flame, "db (20)")->kind, 0);
	assert_null(answer_function(&report.functions, "db (20)"));
	function_is(&report, "work", 0, 27);
	report_free(&report);

	question_parse(&q, QUESTION_BY, "thread", NULL);
	ask(film, &q, &report);
	node_is(&report, "web (10);[thread] worker-1 (11);main", 0, 27);
	node_is(&report, "web (10);[thread] web (10);main", 0, 15);
	report_free(&report);

	q.shape.by_process = false;
	q.shape.by_image = true;
	ask(film, &q, &report);
	node_is(&report, "[thread] worker-1 (11);server;libc", 27, 27);
	node_is(&report, "[thread] web (10);server", 15, 15);
	node_is(&report, "[thread] db (20);[truncated: unreadable memory];server;[kernel]", 3, 3);
	function_is(&report, "libc", 31, 31);
	report_free(&report);
	film_free(film);
}

static void group_is(const struct report *report, size_t place, uint32_t pid, uint32_t tid,
		     const char *image, uint64_t samples, uint64_t self, uint64_t total)
{
	const struct group *group = &report->groups.at[place];

	assert_in_range(place, 0, report->groups.count - 1);
	assert_int_equal(group->process ? group->process->pid : 0, pid);
	assert_int_equal(group->thread ? group->thread->tid : 0, tid);
	assert_string_equal(group->image ? group->image->name : "", image);
	assert_int_equal(group->samples, samples);
	assert_int_equal(group->self, self);
	assert_int_equal(group->total, total);
}

static void test_tables_of_groups(void **state)
{
	struct question q = {0};
	struct report report;
	struct film *film = ask(film_build_small(), &q, &report);

	(void)state;
	assert_int_equal(report.groups.count, 0);
	report_free(&report);

	q.shape = (struct shape){.by_process = true};
	ask(film, &q, &report);
	assert_int_equal(report.groups.count, 2);
	group_is(&report, 0, 10, 0, "", 4, 42, 42);
	group_is(&report, 1, 20, 0, "", 3, 9, 9);
	report_free(&report);
	/* also where threads are kept apart */
	assert_int_equal(report_make(film, &q, true, &report, NULL), 0);
	assert_int_equal(report.groups.count, 2);
	group_is(&report, 0, 10, 0, "", 4, 42, 42);
	report_free(&report);

	q.shape = (struct shape){.by_thread = true};
	ask(film, &q, &report);
	assert_int_equal(report.groups.count, 3);
	group_is(&report, 0, 10, 11, "", 2, 27, 27);
	group_is(&report, 1, 10, 10, "", 2, 15, 15);
	group_is(&report, 2, 20, 20, "", 3, 9, 9);
	report_free(&report);

	q.shape = (struct shape){.by_image = true};
	ask(film, &q, &report);
	assert_int_equal(report.groups.count, 5);
	group_is(&report, 0, 0, 0, "libc", 0, 31, 31);
	group_is(&report, 1, 0, 0, "server", 0, 15, 49);
	group_is(&report, 2, 0, 0, "[kernel]", 0, 3, 3);
	group_is(&report, 3, 0, 0, "[unknown]", 0, 2, 2);
	group_is(&report, 4, 0, 0, "[truncated: unreadable memory]", 0, 0, 3);
	report_free(&report);

	q.shape = (struct shape){.by_thread = true, .by_image = true};
	ask(film, &q, &report);
	group_is(&report, 0, 10, 11, "libc", 0, 27, 27);
	group_is(&report, 1, 10, 10, "server", 0, 15, 15);
	group_is(&report, 2, 20, 20, "libc", 0, 4, 4);
	report_free(&report);
	film_free(film);
}

/* Asks for groups by a list, and checks the first one. */
static void first_group_is(struct film *film, const char *by, size_t count, const char *key,
			   const char *name, uint64_t total)
{
	struct question q = {0};
	struct report report;

	assert_int_equal(question_parse(&q, QUESTION_BY, by, NULL), 0);
	ask(film, &q, &report);
	assert_int_equal(report.groups.count, count);
	assert_string_equal(report.groups.at[0].processes_key, key);
	assert_string_equal(report.groups.at[0].processes, name);
	assert_int_equal(report.groups.at[0].total, total);
	assert_int_equal(report.groups.at[0].samples, count == 1 ? 7 : 4);
	assert_non_null(answer_node(&report.flame, name));
	report_free(&report);
}

/* Processes of one control group or container are one group; those of none, too. */
static void test_groups_of_processes(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	first_group_is(film, "cgroup", 1, "cgroup", "/", 51);
	first_group_is(film, "container", 1, "container", "[no container]", 51);
	first_group_is(film, "name", 2, "process", "web", 42);
	/* it was not known */
	first_group_is(film, "user", 1, "user", NAME_UNKNOWN, 51);
	for (uint32_t i = 1; i < film->process_count; i++)
		if (film->processes[i].pid == 10) {
			film->processes[i].cgroup = "/web.slice";
			film->processes[i].container = "0123abcd shop/web/app";
			film->processes[i].user = "www-data";
		}
	first_group_is(film, "cgroup", 2, "cgroup", "/web.slice", 42);
	first_group_is(film, "container", 2, "container", "0123abcd shop/web/app", 42);
	first_group_is(film, "user", 2, "user", "www-data", 42);
	film_free(film);
}

static void make_service(struct film *film, uint32_t pid, const char *resource)
{
	for (uint32_t i = 1; i < film->process_count; i++)
		if (film->processes[i].pid == pid)
			film->processes[i].resource = resource;
}

/* Processes of one service are one group, with what they say themselves beside its name. */
static void test_groups_of_services(void **state)
{
	struct film *film = film_build_small();
	struct question q = {0};
	struct report report;
	struct fail why = {0};

	(void)state;
	make_service(film, 10, "service.name=shop,service.namespace=eu,service.version=2");
	first_group_is(film, "service", 2, "service", "eu/shop", 42);
	make_service(film, 20,
		     "deployment.environment=test,service.name=shop,service.namespace=eu,"
		     "service.version=1.9");
	first_group_is(film, "service", 1, "service", "eu/shop", 51);
	assert_int_equal(question_parse(&q, QUESTION_BY, "service,thread,image", &why), 0);
	ask(film, &q, &report);
	vec_foreach (&report.groups, group) {
		assert_string_equal(group->processes, "eu/shop");
		assert_non_null(group->thread);
		assert_string_equal(group->versions, "2, 1.9");
		assert_string_equal(group->environments, "test");
	}
	report_free(&report);
	/* a process without samples says nothing */
	q.shape.by_thread = q.shape.by_image = false;
	assert_true(vec_push(&q.filter.pids, 20));
	ask(film, &q, &report);
	assert_string_equal(report.groups.at[0].versions, "1.9");
	report_free(&report);
	question_free(&q);
	/* rules come first */
	assert_int_equal(question_parse(&q, QUESTION_BY, "service", &why), 0);
	assert_int_equal(question_add_service(&q, "comm=web front", &why), 0);
	assert_int_equal(question_add_service(&q, "nothing", &why), -EINVAL);
	ask(film, &q, &report);
	assert_int_equal(report.groups.count, 2);
	assert_string_equal(report.groups.at[0].processes, "front");
	assert_string_equal(report.groups.at[0].versions, "2");
	assert_null(report.groups.at[0].environments);
	report_free(&report);
	question_free(&q);
	assert_int_equal(question_parse(&q, QUESTION_BY, "service,user", &why), -EINVAL);
	question_free(&q);
	film_free(film);
}

/* A view by thread does not change what is shown as one. */
static void test_by_thread_for_formats(void **state)
{
	struct question q = {0};
	struct film *film = film_build_small();
	struct report report;

	(void)state;
	assert_int_equal(report_make(film, &q, true, &report, NULL), 0);
	answer_check(&report.flame, &report.functions);
	node_is(&report, "main", 0, 42);
	assert_int_equal(report.view.group, VIEW_THREAD);
	assert_int_equal(report.view.weights.count, 7);
	report_free(&report);
	film_free(film);
}

static void test_inlines_and_lines(void **state)
{
	struct film_build b;
	struct question q = {0};
	struct report report;
	struct film *film;
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_sample(&b, 1, thread, "main@m.c:5;outer@a.c:1>inner@b.c:2", 3);
	film_build_sample(&b, 2, thread, "main@m.c:6;outer@a.c:9", 4);
	film_build_sample(&b, 3, thread, "main@m.c:6;inner@b.c:3", 5);
	film = ask(film_build_open(&b), &q, &report);
	node_is(&report, "main;outer", 7, 7);
	node_is(&report, "main;inner", 5, 5);
	assert_false(answer_node(&report.flame, "main;outer")->inlined);
	report_free(&report);

	q.shape.inlines = true;
	ask(film, &q, &report);
	node_is(&report, "main;outer", 4, 7);
	node_is(&report, "main;outer;inner", 3, 3);
	assert_true(answer_node(&report.flame, "main;outer;inner")->inlined);
	assert_false(answer_node(&report.flame, "main;inner")->inlined);
	function_is(&report, "inner", 8, 8);
	report_free(&report);

	q.shape.inlines = false;
	q.shape.lines = true;
	ask(film, &q, &report);
	node_is(&report, "main", 0, 9);
	assert_string_equal(answer_node(&report.flame, "main")->file, "m.c");
	assert_int_equal(answer_node(&report.flame, "main")->line, 6);
	assert_int_equal(report.functions.count, 5);
	report_free(&report);

	/* a name that was inlined away is still found */
	assert_int_equal(total_with(film, QUESTION_FOCUS, "inner", 0, NULL), 8);
	assert_int_equal(total_with(film, QUESTION_FOCUS, "outer", 0, NULL), 7);
	film_free(film);
}

static void test_recursion(void **state)
{
	struct film_build b;
	struct question q = {0};
	struct report report;
	struct film *film;
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "calls", "count");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_sample(&b, 1, thread, "a;b;a;b;a", 1);
	film_build_sample(&b, 2, thread, "a;b", 10);
	film_build_sample(&b, 3, thread, "b;a;a;c", 100);
	film = ask(film_build_open(&b), &q, &report);
	function_is(&report, "a", 1, 111);
	function_is(&report, "b", 10, 111);
	function_is(&report, "c", 100, 100);
	report_free(&report);
	film_free(film);
}

/*
 * Places without names are one by the function that they are in; where that is not known, by
 * address.
 */
static void test_places(void **state)
{
	struct film_build b;
	struct question q = {0};
	struct report report;
	struct film *film;
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_sample(&b, 1, thread, "main;lib!+1234-1200;lib!+1345-1340", 1);
	film_build_sample(&b, 2, thread, "main;lib!+1238-1200;lib!+1340-1340", 10);
	film_build_sample(&b, 3, thread, "main;lib!+1200-1200;lib!+1210-1200", 100);
	film_build_sample(&b, 4, thread, "main;lib!+1239;other!+1234-1200", 1000);
	film_build_sample(&b, 5, thread, "main;jit!+1239-1200", 10000);
	film = ask(film_build_open(&b), &q, &report);
	assert_int_equal(report.functions.count, 6);
	/* it called itself: counted once */
	function_is(&report, "lib+0x1200", 100, 111);
	function_is(&report, "lib+0x1340", 11, 11);
	function_is(&report, "lib+0x1239", 0, 1000);
	function_is(&report, "other+0x1200", 1000, 1000);
	function_is(&report, "[anon]", 10000, 10000);
	node_is(&report, "main;lib+0x1200", 0, 111);
	node_is(&report, "main;lib+0x1200;lib+0x1340", 11, 11);
	report_free(&report);
	assert_int_equal(total_with(film, QUESTION_FOCUS, "lib.0x1200", 0, NULL), 111);
	assert_int_equal(total_with(film, QUESTION_IGNORE, "0x1234", 0, NULL), 11111);
	film_free(film);
}

static void test_empty_films(void **state)
{
	struct film_build b;
	struct question q = {.event = "off-cpu"};
	struct report report;
	struct fail why = {0};
	struct film *film;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	film = film_build_open(&b);
	assert_int_equal(report_make(film, &q, false, &report, &why), -ENOENT);
	assert_non_null(strstr(why.what, "off-cpu"));
	assert_non_null(strstr(why.what, "on-cpu"));
	report_free(&report);

	q.event = NULL;
	ask(film, &q, &report);
	assert_int_equal(report.view.total, 0);
	assert_int_equal(report.functions.count, 0);
	assert_int_equal(report.flame.count, 1);
	report_free(&report);
	film_free(film);
}

static void test_sums_that_do_not_fit(void **state)
{
	struct film_build b;
	struct question q = {0};
	struct report report;
	struct fail why = {0};
	struct film *film;
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_sample(&b, 1, thread, "a", 1ull << 63);
	film_build_sample(&b, 2, thread, "b", (1ull << 63) - 1);
	film = ask(film_build_open(&b), &q, &report);
	assert_true(report.view.total == UINT64_MAX);
	report_free(&report);
	film_free(film);

	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_sample(&b, 1, thread, "a", 1ull << 63);
	film_build_sample(&b, 2, thread, "b", 1ull << 63);
	film = film_build_open(&b);
	assert_int_equal(report_make(film, &q, false, &report, &why), -EOVERFLOW);
	assert_int_equal(why.err, -EOVERFLOW);
	report_free(&report);
	film_free(film);
}

static void test_deep_stacks(void **state)
{
	struct film_build b;
	struct question q = {0};
	struct report report;
	struct film *film;
	uint32_t thread, stack = 0;
	char name[32];

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	for (int i = 0; i < TREE_DEPTH_MAX + 100; i++) {
		snprintf(name, sizeof(name), "f%d", i % 300);
		stack = film_stack(b.w, stack, film_build_frame(&b, name), FILM_HOW_EXACT);
		film_sample(b.w, b.event, FILM_BUILD_START, thread, stack, 1);
	}
	film = ask(film_build_open(&b), &q, &report);
	assert_int_equal(report.flame.count, TREE_DEPTH_MAX + 1);
	function_is(&report, TREE_TOO_DEEP, 101, 101);
	report_free(&report);
	film_free(film);
}

static struct film *film_of_an_interpreter(void)
{
	struct film_build b;
	uint32_t thread;

	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "python3", 1, "python3");
	film_build_sample(&b, 0, thread, "label!url=/buy;libc!start;~eval;py!main;~eval;py!work",
			  1);
	film_build_sample(&b, 1, thread, "libc!start;~eval;py!main;~eval;py!work;~multiply", 2);
	film_build_sample(&b, 2, thread, "libc!start;~eval;py!main;libz!inflate", 4);
	film_build_sample(&b, 3, thread, "libc!start;eval", 8);
	return film_build_open(&b);
}

static void test_interpreters_are_folded(void **state)
{
	struct question q = {0};
	struct report report;
	struct film *film;

	(void)state;
	film = ask(film_of_an_interpreter(), &q, &report);
	node_is(&report, "start;main;work", 3, 3);
	node_is(&report, "start;main;inflate", 4, 4);
	/* where it runs no function of its language, it is shown */
	node_is(&report, "start;eval", 8, 8);
	assert_null(answer_function(&report.functions, "multiply"));
	assert_null(answer_function(&report.functions, "url=/buy"));
	assert_int_equal(report.view.total, 15);
	assert_int_equal(report.view.stacks.complete, 4);
	assert_int_equal(report.view.stacks.guessed, 0);
	report_free(&report);
	film_free(film);
}

static void test_native_and_labels(void **state)
{
	struct question q = {.shape = {.native = true}};
	struct report report;
	struct film *film;

	(void)state;
	film = ask(film_of_an_interpreter(), &q, &report);
	node_is(&report, "start;eval;main;eval;work", 1 + 0, 3);
	node_is(&report, "start;eval;main;eval;work;multiply", 2, 2);
	report_free(&report);
	film_free(film);
	q.shape = (struct shape){.by_label = true};
	film = ask(film_of_an_interpreter(), &q, &report);
	node_is(&report, "url=/buy;start;main;work", 1, 1);
	node_is(&report, "start;main;work", 2, 2);
	report_free(&report);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_flame),
		cmocka_unit_test(test_account),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_tables_of_groups),
		cmocka_unit_test(test_groups_of_processes),
		cmocka_unit_test(test_groups_of_services),
		cmocka_unit_test(test_by_thread_for_formats),
		cmocka_unit_test(test_inlines_and_lines),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_empty_films),
		cmocka_unit_test(test_sums_that_do_not_fit),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_interpreters_are_folded),
		cmocka_unit_test(test_native_and_labels),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
