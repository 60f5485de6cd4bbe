// SPDX-License-Identifier: Apache-2.0
/* An index without what nothing refers to any more answers what it answered before. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "made_store.h"

static void check_same(struct index *before, struct index *after)
{
	static const struct made_ask asks[] = {
		{0, 1000, NULL, NULL}, {0, 1000, NULL, "web"},	 {0, 1000, "gamma", NULL},
		{3, 9, NULL, NULL},    {50, 190, "beta", NULL},	 {7, 70, NULL, "db"},
		{60, 120, NULL, NULL}, {60, 121, "delta", NULL}, {500, 600, NULL, NULL},
	};

	made_compare(before, asks, sizeof(asks) / sizeof(asks[0]), made_flame, after);
}

static struct index_status status_of(struct index *index)
{
	struct index_status status;

	index_status(index, &status);
	return status;
}

static void test_clean(void **state)
{
	struct made_film films[5];
	const char *hosts[] = {"alpha", "alpha", "beta", "gamma", "delta"};
	char path[] = "/tmp/stackcam-index-XXXXXX", fresh[64];
	struct index *index, *after;
	const struct index_object in_bucket = {{4711, "5e"}, 17};
	struct index_object found = {0};
	struct index_status old, new;
	struct fail why = {0};
	bool cleaned;

	(void)state;
	close(mkstemp(path));
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	index = made_index(path);
	/* packed ones of services on several hosts, and minutes that are not packed */
	for (unsigned int i = 0; i < 5; i++) {
		films[i] = made_film(20 + i, i < 2 ? 6000 : 900, 130);
		made_add(index, &films[i], hosts[i]);
		if (i == 3)
			assert_int_equal(index_compact(index, LATER, &why), 0);
	}
	/* all is in use */
	assert_int_equal(index_clean(index, fresh, &cleaned, &why), 0);
	assert_false(cleaned);
	assert_int_equal(access(fresh, F_OK), -1);
	/* the bucket has one that goes and one that stays */
	for (unsigned int i = 1; i < 3; i++)
		assert_int_equal(index_bucket_set(index, films[i].path, &in_bucket, &why), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(index_forget(index, films[i].path, &why), 0);
	assert_int_equal(index_clean(index, fresh, &cleaned, &why), 0);
	assert_true(cleaned);
	after = made_index(fresh);
	old = status_of(index);
	new = status_of(after);
	assert_true(new.paths &&new.paths < old.paths / 2);
	assert_true(new.functions <= old.functions &&new.series < old.series);
	assert_int_equal(new.films, old.films);
	assert_int_equal(new.first, old.first);
	assert_int_equal(old.bucket_films, 1);
	assert_int_equal(new.bucket_films, 1);
	assert_int_equal(new.bucket_bytes, in_bucket.object.bytes);
	assert_int_equal(index_bucket_find(after, films[2].path, &found, &why), 0);
	assert_string_equal(found.object.sha256, in_bucket.object.sha256);
	assert_int_equal(found.mtime, in_bucket.mtime);
	assert_int_equal(index_bucket_find(after, films[1].path, &found, &why), -ENOENT);
	check_same(index, after);
	/* once is enough */
	index_free(after);
	after = made_index(fresh);
	assert_int_equal(index_clean(after, path, &cleaned, &why), 0);
	assert_false(cleaned);
	check_same(index, after);
	/* and it goes on as the other does */
	for (unsigned int i = 0; i < 2; i++) {
		struct index *of = i ? after : index;

		made_add(of, &films[0], "alpha");
		made_add(of, &films[4], "delta");
		assert_int_equal(index_compact(of, LATER, &why), 0);
	}
	check_same(index, after);
	index_free(after);
	index_free(index);
	for (unsigned int i = 0; i < 5; i++)
		made_film_free(&films[i]);
	unlink(path);
	unlink(fresh);
}

/*
 * What answers point to lives as long as they, and no longer than that of the index that is gone.
 */
static void test_retired(void **state)
{
	struct made_film film = made_film(30, 500, 10);
	struct index *index = made_index(NULL), *fresh = made_index(NULL);
	struct store_ask ask = {0};
	struct store_answer answer, failed;
	struct fail why = {0};
	const char *unit;

	(void)state;
	made_add(index, &film, "alpha");
	answer = made_flame(index, &ask);
	unit = answer.sum.unit;
	index_retire(index);
	assert_int_equal(store_flame(made_store(index), &ask, &failed, &why), -EAGAIN);
	store_answer_free(&failed);
	index_inherit(fresh, index);
	index_free(index);
	made_check(&answer);
	assert_string_equal(unit, "ns");
	store_answer_free(&answer);
	index_free(fresh);
	made_film_free(&film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_retired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
