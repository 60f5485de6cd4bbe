// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "shown.h"
#include "show/words.h"

#define HEADING                                                                                \
	"on-cpu, 600.000 ms on host7, 2026-01-02 03:04:05\n"                                   \
	"total:  51 ns in 7 samples (cpu-clock, 100 Hz)\n"                                     \
	"stacks: 5 complete (71.4%), 2 truncated (no stack 1, unreadable memory 1), 1 with a " \
	"guessed frame\n"                                                                      \
	"lost:   ring full 5\n\n"

static void test_table(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	/* clang-format off */
	shows(film, "table", &(struct show_options){0}, HEADING
"         Self   Self%         Total  Total%  Function                        Image\n"
"        27 ns  52.94%         27 ns  52.94%  memcpy                          libc\n"
"        10 ns  19.61%         10 ns  19.61%  read                            server\n"
"         5 ns   9.80%         15 ns  29.41%  parse                           server\n"
"         4 ns   7.84%          4 ns   7.84%  libc+0x1234                     libc\n"
"         3 ns   5.88%          3 ns   5.88%  sys_read                        [kernel]\n"
"         2 ns   3.92%          2 ns   3.92%  [unknown]\n"
"         0 ns   0.00%         42 ns  82.35%  main                            server\n"
"         0 ns   0.00%         27 ns  52.94%  work                            server\n"
"         0 ns   0.00%          4 ns   7.84%  db_main                         server\n"
"         0 ns   0.00%          3 ns   5.88%  [truncated: unreadable memory]\n"
"         0 ns   0.00%          3 ns   5.88%  helper ?                        server\n"
"? guessed: some samples came here by following a frame pointer\n");
	shows(film, "table", &(struct show_options){.limit = 1, .color = true, .width = 80}, HEADING
"\033[1m         Self   Self%         Total  Total%  Function          Image\033[0m\n"
"        27 ns  52.94%         27 ns  52.94%  memcpy            \033[2mlibc\033[0m\n"
"… 10 more with 47.06% of self; --limit 0 shows all\n");
	/* clang-format on */
	film_free(film);
}

static void test_table_of_groups(void **state)
{
	struct film *film = film_build_small();
	struct question q = {.shape.by_process = true};
	size_t size;
	char *text;

	(void)state;
	/* clang-format off */
	shows_of(film, "table", &q, &(struct show_options){0}, HEADING
"        Total  Total%   Samples  Process\n"
"        42 ns  82.35%         4  web (10)\n"
"         9 ns  17.65%         3  db (20)\n");
	q.shape.by_thread = true;
	shows_of(film, "table", &q, &(struct show_options){.limit = 2, .color = true}, HEADING
"\033[1m        Total  Total%   Samples  Process   Thread\033[0m\n"
"        27 ns  52.94%         2  web (10)  worker-1 (11)\n"
"        15 ns  29.41%         2  web (10)  web (10)\n"
"… 1 more with 17.65% of self; --limit 0 shows all\n");
	q.shape = (struct shape){.by_process = true, .by_image = true};
	shows_of(film, "table", &q, &(struct show_options){.width = 64}, HEADING
"         Self   Self%         Total  Total%  Process   Image\n"
"        27 ns  52.94%         27 ns  52.94%  web (10)  libc\n"
"        15 ns  29.41%         42 ns  82.35%  web (10)  server\n"
"         4 ns   7.84%          4 ns   7.84%  db (20)   libc\n"
"         3 ns   5.88%          3 ns   5.88%  db (20)   [kernel]\n"
"         2 ns   3.92%          2 ns   3.92%  db (20)   [unknown]\n"
"         0 ns   0.00%          7 ns  13.73%  db (20)   server\n"
"         0 ns   0.00%          3 ns   5.88%  db (20)   [truncat…\n");
	/* clang-format on */
	text = shown(film, "json", &q, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\"groups\":[{\"pid\":10,\"process\":\"web\","
				     "\"image\":\"/usr/lib/libc\",\"self\":27,\"total\":27},"));
	free(text);
	q.shape = (struct shape){.by_thread = true};
	text = shown(film, "json", &q, &(struct show_options){0}, &size);
	assert_non_null(strstr(text, "\"groups\":[{\"pid\":10,\"process\":\"web\",\"tid\":11,"
				     "\"thread\":\"worker-1\",\"samples\":2,\"self\":27,"
				     "\"total\":27},"));
	free(text);
	film_free(film);
}

/* On a terminal no line is longer than that; elsewhere no name is, if so asked. */
static void test_widths(void **state)
{
	static const char name[] = "a_name_of_more_than_sixty_columns::that_does_not_fit_on_a_"
				   "terminal::«ümläut»::and_goes_on";
	struct show_options narrow = {.width = 80}, wide = {0}, pipe = {.name_width = 70};
	struct question q = {0};
	struct film_build b;
	struct film *film;
	uint32_t thread;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 1, "a", 1, "a");
	film_sample(b.w, b.event, FILM_BUILD_START, thread,
		    film_stack(b.w, 0, film_build_raw_frame(&b, name), FILM_HOW_EXACT), 1);
	film = film_build_open(&b);
	text = shown(film, "table", &q, &wide, &size);
	assert_non_null(strstr(text, name));
	free(text);
	text = shown(film, "table", &q, &narrow, &size);
	assert_null(strstr(text, name));
	assert_non_null(strstr(text, "…"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "a_name"))
			assert_true(words_width(line) <= 80);
	free(text);
	text = shown(film, "tree", &q, &narrow, &size);
	assert_null(strstr(text, name));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "a_name"))
			assert_int_equal(words_width(line), 80);
	free(text);
	for (int i = 0; i < 2; i++) {
		text = shown(film, i ? "table" : "tree", &q, &pipe, &size);
		assert_null(strstr(text, name));
		assert_non_null(strstr(text, "  a_name_of_more_than_"));
		assert_non_null(strstr(text, "::and_goes_on  "));
		free(text);
	}
	text = shown(film, "folded", &q, &narrow, &size);
	assert_non_null(strstr(text, name));
	free(text);
	film_free(film);
}

static void test_tree(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	/* clang-format off */
	shows(film, "tree", &(struct show_options){0}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%                 51 ns  all\n"
" 82.35%                 42 ns  ├─ main  [server]\n"
" 52.94%                 27 ns  │  ├─ work  [server]\n"
" 39.22%  39.22%         20 ns  │  │  ├─ memcpy  [libc]\n"
" 13.73%                  7 ns  │  │  └─ work  [server]\n"
" 13.73%  13.73%          7 ns  │  │     memcpy  [libc]\n"
" 29.41%   9.80%         15 ns  │  └─ parse  [server]\n"
" 19.61%  19.61%         10 ns  │     read  [server]\n"
"  7.84%                  4 ns  ├─ db_main  [server]\n"
"  7.84%   7.84%          4 ns  │  libc+0x1234  [libc]\n"
"  5.88%                  3 ns  ├─ [truncated: unreadable memory]\n"
"  5.88%                  3 ns  │  helper ?  [server]\n"
"  5.88%   5.88%          3 ns  │  sys_read  [kernel]\n"
"  3.92%   3.92%          2 ns  └─ [unknown]\n");
	shows(film, "tree", &(struct show_options){.min_percent = 15}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%                 51 ns  all\n"
" 82.35%                 42 ns  ├─ main  [server]\n"
" 52.94%                 27 ns  │  ├─ work  [server]\n"
" 39.22%  39.22%         20 ns  │  │  ├─ memcpy  [libc]\n"
" 13.73%                  7 ns  │  │  └─ … 1 smaller\n"
" 29.41%   9.80%         15 ns  │  └─ parse  [server]\n"
" 19.61%  19.61%         10 ns  │     read  [server]\n"
" 17.65%                  9 ns  └─ … 3 smaller\n");
	shows(film, "tree", &(struct show_options){.min_percent = 100}, HEADING
" Total%   Self%         Total  Function\n"
"100.00%                 51 ns  all\n"
"100.00%                 51 ns  … 4 smaller\n");
	/* clang-format on */
	film_free(film);
}

static void test_folded(void **state)
{
	struct film *film = film_build_small();

	(void)state;
	shows(film, "folded", &(struct show_options){0},
	      "main;work;memcpy 20\n"
	      "main;work;work;memcpy 7\n"
	      "main;parse 5\n"
	      "main;parse;read 10\n"
	      "db_main;libc+0x1234 4\n"
	      "[truncated: unreadable memory];helper;sys_read 3\n"
	      "[unknown] 2\n");
	film_free(film);
}

static void test_json(void **state)
{
	struct film *film = film_build_small();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "json", &q, &(struct show_options){0}, &size);

	(void)state;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"machine\":\"host7\""));
	assert_non_null(strstr(text, "\"start\":\"2026-01-02T03:04:05.000000000Z\""));
	assert_non_null(strstr(text, "\"end\":\"2026-01-02T03:04:05.600000000Z\""));
	assert_non_null(
		strstr(text, "\"event\":{\"name\":\"on-cpu\",\"unit\":\"ns\",\"total\":51,"));
	assert_non_null(strstr(text, "\"loss\":{\"ring full\":5}"));
	assert_non_null(strstr(text, "\"stacks\":{\"samples\":7,\"complete\":5,\"truncated\":2,"
				     "\"reasons\":{\"no stack\":1,\"unreadable memory\":1},"
				     "\"guessed\":1,"));
	assert_non_null(strstr(text, "\"functions\":[{\"name\":\"memcpy\","
				     "\"image\":\"/usr/lib/libc\",\"kind\":\"native\","
				     "\"guessed\":false,\"self\":27,\"total\":27},"));
	assert_non_null(strstr(text, "\"groups\":[]"));
	assert_non_null(strstr(text, "\"processes\":[{\"pid\":10,\"comm\":\"web\","
				     "\"command\":\"/usr/bin/server\",\"total\":42},"));
	free(text);
	film_free(film);
}

static void test_speedscope(void **state)
{
	struct film *film = film_build_small();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "speedscope", &q, &(struct show_options){0}, &size);

	(void)state;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":51,"));
	assert_non_null(strstr(text, "\"weights\":[20,7,5,10,4,3,2]"));
	free(text);
	film_free(film);
}

static void test_empty_film(void **state)
{
	static const char *const formats[] = {"table", "tree",	"folded",     "svg",
					      "html",  "pprof", "speedscope", "json"};
	struct question q = {0};
	struct film_build b;
	struct film *film;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	film = film_build_open(&b);
	for (int i = 0; i < 8; i++) {
		size_t size;
		char *text = shown(film, formats[i], &q, &(struct show_options){0}, &size);

		assert_int_equal(!size, !strcmp(formats[i], "folded"));
		if (i >= 6)
			assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size),
					 0);
		free(text);
	}
	film_free(film);
}

static void test_diffs(void **state)
{
	struct film *before = film_build_small(), *now;
	struct film_build b;
	uint32_t thread;
	size_t size;
	char *text;

	(void)state;
	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 10, "web", 10, "web");
	film_build_sample(&b, 0, thread, "main;work;libc!memcpy", 51);
	film_build_sample(&b, 600, thread, "main;later", 51);
	now = film_build_open(&b);

	text = shown_diff(before, now, "table", &size);
	/* clang-format off */
	assert_non_null(strstr(text,
"   Self%   before   change    Total%   before   change  Function          Image\n"
"  50.00%    0.00%   +50.00    50.00%    0.00%   +50.00  later             server\n"
"   0.00%   19.61%   -19.61     0.00%   19.61%   -19.61  read              server\n"
"   0.00%    9.80%    -9.80     0.00%   29.41%   -29.41  parse             server\n"
"… 9 more"));
	/* clang-format on */
	free(text);

	text = shown_diff(before, now, "folded", &size);
	assert_non_null(strstr(text, "main;later 0 51\n"));
	assert_non_null(strstr(text, "main;parse;read 20 0\n"));
	free(text);

	text = shown_diff(before, now, "json", &size);
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text, "\"name\":\"later\",\"image\":\"/usr/bin/server\","
				     "\"kind\":\"native\",\"guessed\":false,\"before_self\":0,"
				     "\"before_total\":0,\"self\":51,\"total\":51,"
				     "\"self_change\":0.5,\"total_change\":0.5}"));
	free(text);

	text = shown_diff(before, now, "speedscope", &size);
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_non_null(strstr(text,
			       "\"name\":\"on-cpu, before (scaled to the total of now)\","
			       "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":102,"));
	assert_non_null(strstr(text, "\"weights\":[40,14,10,20,8,6,4]}"));
	assert_non_null(strstr(text, "\"name\":\"on-cpu, now\",\"unit\":\"nanoseconds\","
				     "\"startValue\":0,\"endValue\":102,"));
	assert_non_null(strstr(text, "\"weights\":[51,51]}"));
	free(text);

	film_free(before);
	film_free(now);
}

static void test_formats_of_names(void **state)
{
	static const char *const names[][3] = {
		{"x.svg", "svg"},	{"a/b.c/x.HTML", "html"},
		{"x.pb.gz", "pprof"},	{"x.pprof", "pprof"},
		{"x.json", "json"},	{"x.speedscope.json", "speedscope"},
		{"x.txt", "table"},	{"x.folded", "folded"},
		{"x", "table"},		{"a.b/x", "table"},
		{".x", "table"},	{"a/x.", "table"},
		{"x.y", "table", ".y"}, {"a/x.pb", "table", ".pb"},
	};
	const char *unknown;
	char list[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_string_equal(show_format_of_path(names[i][0], &unknown)->name, names[i][1]);
		assert_string_equal(unknown ? unknown : "", names[i][2] ? names[i][2] : "");
	}
	show_format_names(false, list, sizeof(list));
	assert_string_equal(
		list, "table, tree, folded, heatmap, svg, html, pprof, speedscope, "
		      "firefox, chrome, perfetto, states, states-json, requests, requests-json, "
		      "values, values-json, inspect, inspect-json, logs, logs-json, machine, "
		      "machine-json, summary, summary-json, json, histogram, graph");
	show_format_names(true, list, sizeof(list));
	assert_string_equal(list, "table, folded, svg, html, pprof, speedscope, json");
	assert_null(show_format_find("SVG"));
	assert_null(show_format_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	   cmocka_unit_test(test_table_of_groups),
		cmocka_unit_test(test_widths),	   cmocka_unit_test(test_tree),
		cmocka_unit_test(test_folded),	   cmocka_unit_test(test_json),
		cmocka_unit_test(test_speedscope), cmocka_unit_test(test_empty_film),
		cmocka_unit_test(test_diffs),	   cmocka_unit_test(test_formats_of_names),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
