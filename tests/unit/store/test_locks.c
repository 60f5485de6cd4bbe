// SPDX-License-Identifier: Apache-2.0
/* Locks over several films: the same lock and the same holder are one, and sums are conserved. */
#include "../prelude.h"

#include <string.h>

#include "film/events.h"
#include "made_store.h"
#include "store/locks.h"

/* Waits of a worker: for one lock twice, in two parts the second time, for another one once. */
static struct made_film film_of_locks(const char *other_holder)
{
	struct film_lock wait = {.kind = FILM_LOCK_MUTEX, .context = FILM_WAIT_BY_THREAD};
	struct made_film made = {0};
	struct film_build b;
	struct fail why = {0};
	uint32_t web, other;

	film_build_begin(&b, event_type(EVENT_LOCK)->name, "ns");
	web = film_build_thread(&b, 10, "web", 10, "web");
	other = film_build_thread(&b, 10, "web", 11, other_holder);
	wait.thread = film_build_thread(&b, 10, "web", 12, "worker");
	b.end += 1000000000;
	wait.stack = film_build_stack(&b, "main;lock");
	wait.address = 0x1000;
	wait.end = FILM_BUILD_START + 1000000;
	wait.duration = 5000;
	wait.holder = web;
	wait.sure = FILM_HOLDER_OWNER;
	film_lock(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 200;
	wait.holder = other;
	film_lock(b.w, b.event, &wait);
	wait.end += 100;
	wait.duration = 100;
	film_lock(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 30;
	wait.address = 0x2000;
	film_lock(b.w, b.event, &wait);
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
