// SPDX-License-Identifier: Apache-2.0
/* Films become few, and every sample is there once, whenever the store is killed. */
#include "../prelude.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "kept_store.h"
#include "killed.h"

/*
 * Many small films become some, and one when their hour is over; films of other labels stay apart.
 */
static void test_films_become_few(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_sender sender = {"web7", "", 0};
	struct store_status status;
	struct fail why = {0};
	char path[128];
	bool again;

	(void)state;
	send_some(store, "a", 31, BEGIN + 10);
	tick(store, BEGIN + 400);
	assert_int_equal(look().films, 1);
	send_some(store, "b", 2, BEGIN + 500);
	snprintf(path, sizeof(path), "%s/sent.film", root);
	make_film(path, BEGIN + 600, "env=test");
	assert_int_equal(store_add_film(store, path, &sender, &again, &why), 0);
	tick(store, BEGIN + 700);
	assert_int_equal(look().films, 4);
	assert_int_equal(look().parts, 3);
	assert_int_equal(indexed(store), 34 * SAMPLES);
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 2);
	assert_int_equal(look().packed, 2);
	assert_int_equal(look().samples, 34 * SAMPLES);
	assert_int_equal(indexed(store), 34 * SAMPLES);
	store_status(store, &status);
	assert_int_equal(status.films, 2);
	assert_int_equal(status.first, (BEGIN + 10) * SECOND);
	/* and what comes late joins them */
	assert_int_equal(send_film(store, "web7", "b", 9, BEGIN + 2000, &again), 0);
	tick(store, BEGIN + 3600 + 200);
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 3; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 2);
	assert_int_equal(look().samples, 35 * SAMPLES);
	assert_int_equal(indexed(store), 35 * SAMPLES);
	store_free(store);
}

/*
 * Of an hour with films whose tables take much memory several are left: a merge has the tables of
 * all that it makes one in memory. What is small still joins its neighbour.
 */
static void test_large_films_stay_apart(void **state)
{
	static const uint32_t stacks[] = {440000, 440000, 0};
	struct store *store = open_store(0, 0);
	struct store_sender sender = {"web7", "a", 0};
	struct fail why = {0};
	char path[128];
	bool again;

	(void)state;
	snprintf(path, sizeof(path), "%s/sent.film", root);
	for (size_t i = 0; i < 3; i++) {
		make_film_of(path, BEGIN + 100 * (i + 1), NULL, stacks[i]);
		sender.number = i + 1;
		assert_int_equal(store_add_film(store, path, &sender, &again, &why), 0);
	}
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 6; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 2);
	assert_int_equal(look().packed, 2);
	assert_int_equal(look().samples, 3 * SAMPLES);
	assert_int_equal(indexed(store), 3 * SAMPLES);
	store_free(store);
	/* also when what they take is not known yet, and something joins one of them */
	store = open_store(0, 0);
	assert_int_equal(send_film(store, "web7", "a", 4, BEGIN + 1000, &again), 0);
	store_free(store);
	store = open_store(0, 0);
	for (int i = 0; i < 4; i++)
		tick(store, BEGIN + 3600 + 200);
	assert_int_equal(look().films, 2);
	assert_int_equal(look().packed, 2);
	assert_int_equal(look().samples, 4 * SAMPLES);
	assert_int_equal(indexed(store), 4 * SAMPLES);
	store_free(store);
}

#define HOSTS 6

static void send_from_hosts(struct store *store, uint64_t number, uint64_t begin)
{
	char host[16];
	bool again;

	for (unsigned int i = 0; i < HOSTS; i++) {
		snprintf(host, sizeof(host), "web%u", i);
		assert_int_equal(send_film(store, host, host, number, begin, &again), 0);
	}
}

static void tick_some(struct store *store)
{
	for (int i = 0; i < 4; i++)
		tick(store, BEGIN + 3600 + 200);
}

/* Films of several hosts are written at once; also where the store is killed meanwhile. */
static void test_hosts_at_once(void **state)
{
	struct store *store = open_store(0, 0);
	struct store_status status;
	uint64_t number = 0;

	(void)state;
	for (long after = 0; after < 90; after += 4) {
		for (int i = 0; i < 2; i++, number++)
			send_from_hosts(store, number + 1, BEGIN + 10 * number);
		store_free(store);
		work_and_die(&calls_left, after);
		store = open_store(0, 0);
		tick_some(store);
		store_status(store, &status);
		assert_int_equal(status.films, HOSTS);
		assert_int_equal(indexed(store), number * HOSTS * SAMPLES);
	}
	store_free(store);
}

/* The hours of some hosts, merged in the threads that these CPUs allow; then under another name. */
static void merge_on(const cpu_set_t *cpus, const char *name)
{
	struct store *store = open_store(0, 0);
	char to[96];

	assert_int_equal(sched_setaffinity(0, sizeof(*cpus), cpus), 0);
	for (uint64_t number = 1; number <= 3; number++)
		send_from_hosts(store, number, BEGIN + 10 * number);
	store_free(store);
	/* what was there at the start need not settle first */
	store = open_store(0, 0);
	tick_some(store);
	assert_int_equal(look().packed, HOSTS);
	assert_int_equal(look().films, HOSTS);
	assert_int_equal(indexed(store), 3 * HOSTS * SAMPLES);
	store_free(store);
	snprintf(to, sizeof(to), "%s/%s", root, name);
	assert_int_equal(rename(store_path, to), 0);
}

/* Several threads write the same bytes under the same names as one. */
static void test_threads_write_the_same(void **state)
{
	char command[256];
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	merge_on(&one, "one");
	merge_on(&all, "all");
	snprintf(command, sizeof(command), "diff -r --exclude='index.db*' %s/one %s/all", root,
		 root);
	assert_int_equal(system(command), 0);
}

static void die_and_check(long *left, long after, unsigned int *number, unsigned int *films)
{
	struct store *store = open_store(0, 0);
	char agent[16];

	/* something to do: films that become one, and then a part of the hour's film */
	snprintf(agent, sizeof(agent), "a%u", ++*number);
	send_some(store, agent, 3, BEGIN + 30 * *number);
	*films += 3;
	store_free(store);
	work_and_die(left, after);
	store = open_store(0, 0);
	tick_some(store);
	assert_int_equal(look().samples, *films * SAMPLES);
	assert_int_equal(look().films, 1);
	assert_int_equal(indexed(store), *films * SAMPLES);
	store_free(store);
}

static void test_killed_anywhere(void **state)
{
	unsigned int number = 0, films = 0;

	(void)state;
	for (long after = 0; after < 60; after++)
		die_and_check(&calls_left, after, &number, &films);
}

static void test_killed_between_statements(void **state)
{
	unsigned int number = 0, films = 0;

	(void)state;
	for (long after = 3; after < 1500; after += 1 + after / 6)
		die_and_check(&steps_left, after, &number, &films);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_films_become_few), KEPT_TEST(test_large_films_stay_apart),
		KEPT_TEST(test_hosts_at_once),	  KEPT_TEST(test_threads_write_the_same),
		KEPT_TEST(test_killed_anywhere),  KEPT_TEST(test_killed_between_statements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
