// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "answers.h"
#include "ask_calls.h"
#include "query/calls/graph.h"

static void test_sums(void **state)
{
	struct film *film = film_build_small_sums();
	struct question q = {.is_raw = true};
	const struct function *f;
	struct report report;
	struct fail why = {0};

	(void)state;
	ask(film, &q, &report);
	assert_true(report.view.calls->is_summary);
	assert_int_equal(report.view.samples, 7);
	assert_int_equal(report.view.total, 300000);
	f = assert_function(&report, "parse", 140000, 140000, 6);
	assert_int_equal(f->calls[TREE_NOW]->min, 10000);
	assert_int_equal(f->calls[TREE_NOW]->max, 40000);
	assert_int_equal(function_on_cpu(f, TREE_NOW), 100000);
	assert_true(f->calls[TREE_NOW]->latency.is_coarse);
	assert_in_range(call_stats_quantile(f->calls[TREE_NOW], 500), 16384, 32768);
	report_free(&report);

	q.is_raw = false;
	ask(film, &q, &report);
	assert_function(&report, "parse", 140000 - 600, 140000 - 600, 6);
	/* what was subtracted of parse() was within main() too */
	f = assert_function(&report, "main", 300000 - 600, 160000, 1);
	assert_int_equal(f->calls[TREE_NOW]->max, 300000 - 600);
	assert_int_equal(report.view.total, 300000 - 600);
	assert_int_equal(report.view.calls->subtracted, 600);
	report_free(&report);

	assert_int_equal(question_parse(&q, QUESTION_FOCUS, "^parse$", NULL), 0);
	ask(film, &q, &report);
	assert_int_equal(report.view.samples, 6);
	assert_int_equal(report.view.film_samples, 7);
	report_free(&report);

	assert_true(vec_push(&q.filter.pids, 100));
	assert_int_equal(report_make(film, &q, false, &report, &why), -EINVAL);
	assert_non_null(strstr(why.what, "--summary"));
	report_free(&report);
	question_free(&q);
	film_free(film);
}

static const struct call_edge *edge(const struct report *report, const struct call_graph *graph,
				    const char *caller, const char *callee)
{
	const struct label *labels = report->tree.labels.all.at;

	for (size_t i = 0; i < graph->count; i++) {
		const struct call_edge *e = &graph->at[i];
		const char *from = e->caller == CALL_GRAPH_OUTSIDE ? "" : labels[e->caller].name;

		if (!strcmp(from, caller) && !strcmp(labels[e->callee].name, callee))
			return e;
	}
	fail_msg("there is no call of %s by %s", callee, caller);
	return NULL;
}

static void test_graph(void **state)
{
	static const struct film_build_call calls[] = {
		{"f", 3, 400, 500}, {"g", 2, 300, 600},	  {"f", 1, 200, 800},
		{"f", 0, 0, 1000},  {"g", 0, 2000, 2010},
	};
	struct film *film = film_of(calls, COUNT(calls));
	struct question q = {0};
	struct call_graph graph;
	struct report report;
	const struct call_edge *e;

	(void)state;
	ask(film, &q, &report);
	assert_int_equal(call_graph_of(&report.view, &report.calls, &graph), 0);
	assert_int_equal(graph.count, 5);
	e = edge(&report, &graph, "", "f");
	assert_int_equal(e->calls, 1);
	assert_int_equal(e->time_in, 1000);
	e = edge(&report, &graph, "f", "f");
	assert_int_equal(e->calls, 1);
	assert_int_equal(e->time_in, 0);
	assert_int_equal(e->time_out, 600);
	e = edge(&report, &graph, "f", "g");
	assert_int_equal(e->time_in, 300);
	assert_int_equal(e->time_out, 0);
	e = edge(&report, &graph, "g", "f");
	assert_int_equal(e->time_in, 0);
	assert_int_equal(e->time_out, 100);
	assert_int_equal(edge(&report, &graph, "", "g")->time_in, 10);
	call_graph_free(&graph);
	report_free(&report);
	film_free(film);
}

/* The first event is what a film was made for. */
static void test_which_event(void **state)
{
	struct film_build b;
	struct film *film;
	struct question q = {0};
	struct report report;
	uint32_t thread;

	(void)state;
	film_build_begin(&b, "calls", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_build_calls(&b, thread, &(struct film_build_call){"main", 0, 0, 10}, 1);
	b.event = film_add_event(b.w, &(struct film_event){"on-cpu", "ns", "cpu-clock", 99});
	film_build_sample(&b, 1, thread, "main", 7);
	film = film_build_open(&b);
	ask(film, &q, &report);
	assert_non_null(report.view.calls);
	assert_int_equal(report.view.total, 10);
	report_free(&report);
	q.event = "on-cpu";
	ask(film, &q, &report);
	assert_null(report.view.calls);
	assert_int_equal(report.view.total, 7);
	report_free(&report);
	film_free(film);
}

static void test_no_calls(void **state)
{
	struct film *film = film_of(NULL, 0);
	struct question q = {0};
	struct report report;

	(void)state;
	ask(film, &q, &report);
	assert_int_equal(report.view.film_samples, 0);
	assert_int_equal(report.functions.count, 0);
	report_free(&report);
	film_free(film);
}

static uint64_t random_number(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (*seed >> 33) % below;
}

/* The calls of a program, and what its functions took by themselves, added up while they run. */
struct program {
	struct film_build_call calls[20000];
	size_t count;
	uint64_t self[5], times[5];
	struct {
		uint64_t start, children;
		unsigned int function;
	} open[40];
	uint16_t depth;
};

static void leave(struct program *p, uint64_t now)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	uint16_t depth = --p->depth;
	unsigned int function = p->open[depth].function;
	uint64_t duration = now - p->open[depth].start;

	p->calls[p->count++] =
		(struct film_build_call){names[function], depth, p->open[depth].start, now};
	p->self[function] += duration - p->open[depth].children;
	p->times[function]++;
	if (depth)
		p->open[depth - 1].children += duration;
}

static void run(struct program *p)
{
	uint64_t seed = 1, now = 0;

	while (p->count < COUNT(p->calls)) {
		bool can_enter = p->depth < COUNT(p->open) && p->count + p->depth < COUNT(p->calls);

		now += random_number(&seed, 1000);
		if (!can_enter || (p->depth && random_number(&seed, 2))) {
			leave(p, now);
			continue;
		}
		p->open[p->depth].start = now;
		p->open[p->depth].children = 0;
		p->open[p->depth++].function = (unsigned int)random_number(&seed, 5);
	}
}

static void test_many_calls(void **state)
{
	static struct program program;
	struct question q = {0};
	struct report report;
	struct film *film;

	(void)state;
	run(&program);
	film = film_of(program.calls, program.count);
	ask(film, &q, &report);
	for (int i = 0; i < 5; i++) {
		const struct function *f =
			answer_function(&report.functions, (const char[]){(char)('a' + i), 0});

		assert_int_equal(f->self[TREE_NOW], program.self[i]);
		assert_int_equal(f->calls[TREE_NOW]->calls, program.times[i]);
	}
	assert_int_equal(report.view.stacks.truncated, 0);
	report_free(&report);
	film_free(film);
}

/* Calls that no program makes. What is made of them may mean nothing, but it adds up. */
static struct film *film_of_nonsense(uint64_t seed)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	struct film_build b;
	uint64_t now = 0;
	uint32_t threads[3];

	film_build_begin(&b, "calls", "ns");
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = film_build_thread(&b, 1 + i / 2, "a", 1 + i, "t");
	for (int i = 0; i < 3000; i++) {
		uint64_t length = random_number(&seed, 10)
					  ? random_number(&seed, 2000)
					  : random_number(&seed, FILM_BUILD_START + now);
		struct film_call call = {
			.end = FILM_BUILD_START + now,
			.duration = length,
			.waited = random_number(&seed, 2000),
			.thread = threads[random_number(&seed, 3)],
			.frame = film_build_frame(&b, names[random_number(&seed, 6)]),
			.lane = (uint32_t)random_number(&seed, 3),
			.depth = (uint16_t)random_number(&seed,
							 random_number(&seed, 50) ? 6 : 65536),
			.flags = (uint32_t)random_number(&seed, 8),
		};

		film_call(b.w, b.event, &call);
		now += random_number(&seed, 3) * random_number(&seed, 500);
	}
	for (int i = 0; i < 6; i++)
		film_build_cost(&b, names[i], (uint32_t)random_number(&seed, 500),
				(uint32_t)random_number(&seed, 1500));
	b.end = FILM_BUILD_START + now;
	return film_build_open(&b);
}

static void test_nonsense(void **state)
{
	static const struct {
		int option;
		const char *value;
	} options[] = {
		{QUESTION_RAW, NULL},	  {QUESTION_FOCUS, "a|b"}, {QUESTION_IGNORE, "c"},
		{QUESTION_FROM, "100us"}, {QUESTION_TO, "400us"},  {QUESTION_BY, "process,thread"},
		{QUESTION_BY, "image"},
	};

	(void)state;
	for (uint64_t seed = 0; seed < 128; seed++) {
		struct film *film = film_of_nonsense(seed / 8);
		struct question q = {0};
		struct call_graph graph;
		struct report report;
		uint64_t calls = 0, self = 0, edges = 0;

		for (size_t i = 0; i < COUNT(options); i++)
			if (hash_u64(seed * COUNT(options) + i) % 2)
				assert_int_equal(question_parse(&q, options[i].option,
								options[i].value, NULL),
						 0);
		ask(film, &q, &report);
		for (size_t i = 0; i < report.functions.count; i++) {
			const struct function *f = &report.functions.at[i];

			self += f->self[TREE_NOW];
			calls += f->calls[TREE_NOW] ? f->calls[TREE_NOW]->calls : 0;
			assert_true(function_on_cpu(f, TREE_NOW) <= f->total[TREE_NOW]);
		}
		assert_int_equal(self, report.view.total);
		assert_int_equal(calls, report.view.samples);
		assert_int_equal(report.view.stacks.complete + report.view.stacks.truncated, calls);
		assert_int_equal(call_graph_of(&report.view, &report.calls, &graph), 0);
		for (size_t i = 0; i < graph.count; i++)
			edges += graph.at[i].calls;
		assert_int_equal(edges, calls);
		call_graph_free(&graph);
		report_free(&report);
		question_free(&q);
		film_free(film);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	    cmocka_unit_test(test_graph),
		cmocka_unit_test(test_which_event), cmocka_unit_test(test_no_calls),
		cmocka_unit_test(test_many_calls),  cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
