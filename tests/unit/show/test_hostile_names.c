// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "shown.h"

static void test_hostile_names(void **state)
{
	static const char *const formats[] = {"table", "tree", "folded", "svg", "html"};
	struct film *film = hostile_film();
	struct question q = {0};

	(void)state;
	q.shape.by_process = q.shape.by_thread = true;
	for (int i = 0; i < 5; i++) {
		size_t size;
		char *text = shown(film, formats[i], &q, &(struct show_options){0}, &size);

		assert_harmless(text, size);
		if (i >= 3) {
			assert_null(strstr(text, "<script>alert"));
			assert_null(strstr(text, "<img"));
		}
		free(text);
	}
	film_free(film);
}

static void test_hostile_names_in_folded(void **state)
{
	struct film *film = hostile_film();
	struct question q = {0};
	size_t size, lines = 0;
	char *text = shown(film, "folded", &q, &(struct show_options){0}, &size);
	uint64_t total = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		char *blank = strrchr(line, ' ');

		total += strtoull(blank + 1, NULL, 10);
		assert_true(!strncmp(line, "main;", 5));
		assert_null(strchr(line + 5, ';'));
	}
	assert_int_equal(lines, HOSTILE_NAMES);
	assert_int_equal(total, 55);
	free(text);
	film_free(film);
}

static void test_hostile_names_in_json(void **state)
{
	struct film *film = hostile_film();
	struct question q = {0};
	size_t size;
	char *text = shown(film, "json", &q, &(struct show_options){0}, &size);

	(void)state;
	q.shape.by_thread = true;
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	/* what is valid comes back as it was */
	assert_non_null(strstr(text, "\"a;b 999\\u000anext;line 777\""));
	free(text);
	text = shown(film, "speedscope", &q, &(struct show_options){0}, &size);
	assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
	assert_harmless(text, size);
	free(text);
	film_free(film);
}

static void test_hostile_names_of_calls(void **state)
{
	static const char *const formats[] = {"table", "tree",	"folded",   "svg",
					      "html",  "graph", "histogram"};
	struct show_options options = {0};
	struct film *film = hostile_calls();
	struct question q = {0};
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(show_parse_columns(&options, "all", NULL), 0);
	for (int i = 0; i < 7; i++) {
		text = shown(film, formats[i], &q, &options, &size);
		assert_harmless(text, size);
		if (i >= 3 && i < 5) {
			assert_null(strstr(text, "<script>alert"));
			assert_null(strstr(text, "<img"));
		}
		free(text);
	}
	for (int i = 0; i < 2; i++) {
		text = shown(film, i ? "json" : "speedscope", &q, &options, &size);
		assert_int_equal(judged("python3 -m json.tool %s >/dev/null", text, size), 0);
		free(text);
	}
	film_free(film);
}

static void test_hostile_names_in_diffs(void **state)
{
	static const char *const formats[] = {"table", "svg", "html", "speedscope"};

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct film *film = i / 4 ? hostile_calls() : hostile_film();
		size_t size;
		char *text = shown_diff(film, film, formats[i % 4], &size);

		assert_harmless(text, size);
		free(text);
		film_free(film);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_hostile_names_in_folded),
		cmocka_unit_test(test_hostile_names_in_json),
		cmocka_unit_test(test_hostile_names_of_calls),
		cmocka_unit_test(test_hostile_names_in_diffs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
