// SPDX-License-Identifier: Apache-2.0
/* Locks over several films: the same lock and the same holder are one, and sums are conserved. */
#include "../prelude.h"

#include <string.h>

#include "made_store.h"
#include "store/locks.h"

static struct made_film film_of_locks(const char *other_holder)
{
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};

	film_build_locks(&b, other_holder);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	memcpy(made.path, b.path, sizeof(made.path));
	assert_int_equal(film_open(made.path, &made.film, &why), 0);
	return made;
}

static void test_two_films(void **state)
{
	struct made_film films[] = {film_of_locks("other"), film_of_locks("another")};
	struct index *index = made_index(NULL);
	/* it is of locks, for any event that the ask names */
	struct store_ask ask = {.event = "on-cpu", .from = START, .to = START + MINUTE};
	struct store_locks locks;
	struct fail why = {0};

	(void)state;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	assert_int_equal(store_locks(made_store(index), &ask, &locks, &why), 0);
	assert_int_equal(locks.sum.total, 2 * 5330);
	assert_int_equal(locks.all.count, 2);
	assert_false(locks.is_cut);
	assert_string_equal(locks.all.at[0].name, "[mutex 0x1000 of web (10)]");
	assert_int_equal(locks.all.at[0].total, 2 * 5300);
	assert_int_equal(locks.all.at[0].waits, 4);
	assert_int_equal(locks.all.at[0].longest, 5000);
	assert_int_equal(locks.all.at[0].holders.count, 3);
	assert_string_equal(locks.all.at[0].holders.at[0].name, "[owner: web (10)]");
	assert_int_equal(locks.all.at[0].holders.at[0].total, 10000);
	assert_int_equal(locks.all.at[0].holders.at[0].waits, 2);
	assert_string_equal(locks.all.at[0].holders.at[1].name, "[owner: another (11)]");
	assert_int_equal(locks.all.at[0].holders.at[1].total, 300);
	assert_int_equal(locks.all.at[0].holders.at[1].waits, 1);
	assert_string_equal(locks.all.at[1].name, "[mutex 0x2000 of web (10)]");
	assert_int_equal(locks.all.at[1].total, 60);
	store_locks_free(&locks);

	/* one host alone */
	ask.host = "beta";
	assert_int_equal(store_locks(made_store(index), &ask, &locks, &why), 0);
	assert_int_equal(locks.sum.total, 5330);
	assert_int_equal(locks.all.at[0].holders.count, 2);
	store_locks_free(&locks);
	index_free(index);
	made_film_free(&films[0]);
	made_film_free(&films[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_films),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
