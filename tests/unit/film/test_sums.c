// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"

#define PROBES 70000 /* more than a block holds */

static int next_probe(void *context, const struct film_probe *probe)
{
	uint32_t *next = context;

	assert_int_equal(probe->frame, *next % 100);
	assert_int_equal(probe->own, *next);
	assert_int_equal(probe->outer, UINT32_MAX - *next);
	++*next;
	return 0;
}

static void test_probes(void **state)
{
	const char *path = new_path();
	struct film_writer *w = create(path);
	struct film *film;
	uint32_t next = 0, i;

	(void)state;
	for (i = 1; i < 100; i++)
		native(w, i);
	for (i = 0; i < PROBES; i++) {
		film_probe(w, 1, &(struct film_probe){i % 100, i, UINT32_MAX - i});
		if (i == 10)
			commit(w, 6 * SECOND);
	}
	close_film(w, 7 * SECOND);
	film = open_film(path);
	assert_int_equal(film_each_probe(film, 1, next_probe, &next, NULL), 0);
	assert_int_equal(next, PROBES);
	assert_int_equal(film_each_probe(film, 2, next_probe, &next, NULL), 0);
	assert_int_equal(next, PROBES);
	film_free(film);
	remove_folder();
}

/* A sum in which no two numbers are the same. */
static struct film_sum sum_number(uint32_t number)
{
	struct film_sum sum = {
		.frame = 1 + number % 50,
		.calls = number * 1000,
		.total = number * 1000 + 1,
		.self = number * 1000 + 2,
		.waited = number * 1000 + 3,
		.min = number * 1000 + 4,
		.max = UINT64_MAX - number,
		.recursive = number * 1000 + 5,
		.inferred = number * 1000 + 6,
	};
	unsigned int i;

	for (i = 0; i < FILM_SUM_BUCKETS; i++)
		sum.buckets[i] = i % 3 ? 0 : number * 1000 + 10 + i;
	return sum;
}

static int next_sum(void *context, const struct film_sum *sum)
{
	uint32_t *next = context;
	struct film_sum expected = sum_number(*next);

	/* not what lies between the two */
	assert_int_equal(sum->frame, expected.frame);
	assert_memory_equal(&sum->calls, &expected.calls,
			    sizeof(expected) - offsetof(struct film_sum, calls));
	++*next;
	return 0;
}

static struct film *film_of_sums(const char *path)
{
	struct film_writer *w = create(path);
	uint32_t i;

	for (i = 1; i <= 50; i++)
		native(w, i);
	for (i = 0; i < 300; i++) {
		struct film_sum sum = sum_number(i);
		uint64_t second = 5 + i / 100;

		film_sum(w, 1, second * SECOND, (second + 1) * SECOND, &sum);
		if (i == 120)
			commit(w, 7 * SECOND);
	}
	close_film(w, 8 * SECOND);
	return open_film(path);
}

static void test_sums(void **state)
{
	struct film *film = film_of_sums(new_path());
	uint32_t next = 0;

	(void)state;
	assert_int_equal(film_each_sum(film, 1, 0, UINT64_MAX, next_sum, &next, NULL), 0);
	assert_int_equal(next, 300);
	/* sums are not cut: those that cover a part of the time are given */
	next = 100;
	assert_int_equal(film_each_sum(film, 1, 6 * SECOND, 7 * SECOND, next_sum, &next, NULL), 0);
	assert_int_equal(next, 200);
	next = 100;
	assert_int_equal(
		film_each_sum(film, 1, 7 * SECOND - 1, 7 * SECOND + 1, next_sum, &next, NULL), 0);
	assert_int_equal(next, 300);
	check_promises(film);
	film_free(film);
	remove_folder();
}

static void test_wrong_blocks(void **state)
{
	static const char *const changes[] = {
		"UPDATE block SET n = n - 1",
		"UPDATE block SET n = n + 1",
		"UPDATE block SET total = total + 1",
		"UPDATE block SET data = (SELECT data FROM frame)",
		"UPDATE block SET data = ''",
		"UPDATE block SET kind = 3",
		"DELETE FROM frame",
	};
	const char *path = new_path();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct fail why = {0};
		struct film *film;
		uint32_t next = 0;
		int err;

		remove(path);
		film_free(film_of_sums(path));
		change_film(path, changes[i]);
		film = open_film(path);
		err = film_each_sum(film, 1, 0, UINT64_MAX, next_sum, &next, &why);
		if (!err)
			err = film_each_probe(film, 1, next_probe, &next, &why);
		assert_int_equal(err, -EBADMSG);
		assert_non_null(strstr(why.what, "is not what its row says"));
		assert_int_equal(next, 0);
		film_free(film);
	}
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_wrong_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
