// SPDX-License-Identifier: Apache-2.0
/* Stacks that names of functions choose: the index says what films say, however many there are. */
#include "../prelude.h"

#include <stdlib.h>

#include "base/regex.h"
#include "made_store.h"

static const struct {
	const char *focus, *ignore;
} patterns[] = {{"^f1$", NULL},	     {"f[02468]$", NULL},    {"libc", "^f1$"},
		{NULL, "f[02468]$"}, {"no such name", NULL}, {"f", "^f0"}};

/* Of each host: more than are read where the index has an answer. */
#define FILMS 17

static struct regex *compiled(const char *pattern)
{
	struct regex *regex = NULL;
	struct fail why = {0};

	if (pattern && regex_compile(pattern, &regex, &why)) {
		fail_print(&why);
		abort();
	}
	return regex;
}

static void same_by_index(struct index *index, struct store_ask ask)
{
	struct store_answer films = made_by_films(index, &ask), paths = made_flame(index, &ask);

	assert_false(films.sum.by_paths);
	assert_int_equal(films.sum.films_unread, 0);
	assert_true(paths.sum.by_paths);
	assert_false(paths.sum.by_films);
	assert_int_equal(paths.sum.films_unread, 0);
	assert_int_equal(paths.sum.samples, 0);
	made_same_flame(&paths, &films);
	store_answer_free(&films);
	store_answer_free(&paths);
}

static void check_names(struct index *index)
{
	static const struct made_ask asks[] = {
		{0, 1000, NULL, NULL}, {0, 1000, NULL, "server"}, {3, 17, "alpha", NULL}};

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		for (size_t k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++) {
			struct question question = {
				.filter.focus = compiled(patterns[k].focus),
				.filter.ignore = compiled(patterns[k].ignore),
			};
			struct store_ask ask = {
				.from = START + asks[i].from * MINUTE,
				.to = START + asks[i].to * MINUTE,
				.host = asks[i].host,
				.service = asks[i].service,
				.question = &question,
				.patience = 100 * MINUTE,
			};

			same_by_index(index, ask);
			regex_free(question.filter.focus);
			regex_free(question.filter.ignore);
		}
	}
}

static void test_names(void **state)
{
	struct made_film films[2 * FILMS];
	struct index *index = made_index(NULL);
	struct fail why = {0};

	(void)state;
	for (unsigned int i = 0; i < 2 * FILMS; i++) {
		films[i] = made_film(i, 100, 20);
		made_add(index, &films[i], i % 2 ? "alpha" : "beta");
	}
	check_names(index);
	assert_int_equal(index_compact(index, LATER, &why), 0);
	check_names(index);
	/* nothing is left of one answer in the next */
	made_check_by_films(index);
	index_free(index);
	for (unsigned int i = 0; i < 2 * FILMS; i++)
		made_film_free(&films[i]);
}

/* The index answers for all of the time where it does not suffice to read a few films. */
static void test_too_little_time(void **state)
{
	struct question question = {.filter.focus = compiled("f1")};
	struct question other = question;
	struct store_ask ask = {.question = &question, .patience = 100 * MINUTE};
	struct store_ask before = {.question = &other};
	struct index *index = made_index(NULL);
	struct store_answer whole, hurried;
	struct made_film films[6];
	struct fail why = {0};
	const char *all = "*";

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		films[i] = made_film(i, 3000, 20);
		made_add(index, &films[i], "alpha");
	}
	whole = made_flame(index, &ask);
	assert_true(whole.sum.by_films);
	assert_false(whole.sum.by_paths);
	ask.patience = 1;
	hurried = made_flame(index, &ask);
	assert_true(hurried.sum.by_paths);
	assert_int_equal(hurried.sum.films_unread, 0);
	made_same_flame(&hurried, &whole);
	store_answer_free(&whole);
	store_answer_free(&hurried);
	/* of two sides it answers both or none: what else one of them filters it does not know */
	other.filter.comms.at = &all;
	other.filter.comms.count = 1;
	before.patience = 1;
	assert_int_equal(store_diff(made_store(index), &before, &ask, &hurried, &why), 0);
	assert_true(hurried.sum.films_unread > 0);
	assert_true(hurried.sum.by_films && hurried.before.by_films);
	assert_false(hurried.sum.by_paths || hurried.before.by_paths);
	store_answer_free(&hurried);
	regex_free(question.filter.focus);
	index_free(index);
	for (unsigned int i = 0; i < 6; i++)
		made_film_free(&films[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_too_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
