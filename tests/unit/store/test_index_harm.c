// SPDX-License-Identifier: Apache-2.0
/* The index when it is killed, full, damaged, or asked while it changes. */
#include "../prelude.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "made_store.h"
#include "store/index_private.h"

/*
 * Killed anywhere, and then all added again as the store does after a start: nothing is missing,
 * nothing twice.
 */
static void test_killed(void **state)
{
	struct made_film films[] = {made_film(21, 2000, 150), made_film(22, 1500, 70)};
	char path[] = "/tmp/stackcam-index-XXXXXX", side[64];
	struct index *index;
	struct fail why = {0};

	(void)state;
	close(mkstemp(path));
	for (unsigned int i = 0; i < 12; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			index = made_index(path);
			made_add(index, &films[0], "alpha");
			index_compact(index, START + 70 * MINUTE, &why);
			made_add(index, &films[1], "beta");
			index_compact(index, LATER, &why);
			_exit(0);
		}
		usleep(i * 2000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	index = made_index(path);
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	made_check_by_films(index);
	assert_int_equal(index_compact(index, LATER, &why), 0);
	made_check_by_films(index);
	index_free(index);
	unlink(path);
	snprintf(side, sizeof(side), "%s-wal", path);
	unlink(side);
	snprintf(side, sizeof(side), "%s-shm", path);
	unlink(side);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

/* A dictionary that is full: what has no room stands in others, and is counted. */
static void test_full(void **state)
{
	struct made_film films[] = {made_film(23, 3000, 10), made_film(24, 3000, 10)};
	struct store_ask ask = {.from = START, .to = LATER};
	struct index *index = made_index(NULL);
	struct store_answer answer, whole;
	const struct function *others;
	struct index_status status;

	(void)state;
	index->dictionary.paths.max = 100;
	index->dictionary.functions.max = 30;
	index->dictionary.series.max = 3;
	made_add(index, &films[0], "alpha");
	made_add(index, &films[1], "beta");
	answer = made_flame(index, &ask);
	whole = made_by_films(index, &ask);
	assert_int_equal(answer.sum.samples, whole.sum.samples);
	assert_int_equal(answer.sum.total, whole.sum.total);
	assert_int_equal(answer.sum.truncated, whole.sum.truncated);
	others = answer_function(&answer.functions, "[others]");
	assert_non_null(others);
	assert_true(others->self[0] > 0);
	index_status(index, &status);
	assert_int_equal(status.paths, 99);
	assert_int_equal(status.series, 2);
	assert_true(status.others > 0);
	store_answer_free(&answer);
	ask.host = "[others]";
	answer = made_flame(index, &ask);
	assert_int_equal(answer.sum.samples, 3000);
	store_answer_free(&answer);
	store_answer_free(&whole);
	index_free(index);
	for (int i = 0; i < 2; i++)
		made_film_free(&films[i]);
}

struct asking {
	struct store *store;
	const atomic_bool *done;
	unsigned int answers, wrong;
};

/* cmocka's asserts are for its own thread only. */
static void *ask_on(void *context)
{
	struct asking *a = context;
	struct store_ask ask = {.from = START, .to = LATER};

	do {
		struct store_answer answer;
		struct store_timeline timeline;
		uint64_t self = 0;

		if (store_flame(a->store, &ask, &answer, NULL))
			a->wrong++;
		for (size_t i = 0; i < answer.functions.count; i++)
			self += answer.functions.at[i].self[0];
		a->wrong += self != answer.sum.total;
		a->wrong += answer.flame.count && answer.flame.nodes[0].total != self;
		store_answer_free(&answer);
		if (store_timeline(a->store, &ask, STORE_BY_SERVICE, 50, 5, "f0", &timeline, NULL))
			a->wrong++;
		store_timeline_free(&timeline);
		a->answers++;
	} while (!atomic_load(a->done));
	return NULL;
}

/* Answers while films are added and hours are packed. */
static void test_threads(void **state)
{
	char path[] = "/tmp/stackcam-index-XXXXXX";
	struct made_film films[8];
	atomic_bool done = false;
	struct asking asking[3];
	struct index *index;
	pthread_t threads[3];
	struct fail why = {0};

	(void)state;
	close(mkstemp(path));
	index = made_index(path);
	for (unsigned int i = 0; i < 8; i++)
		films[i] = made_film(30 + i, 400, 100);
	for (int i = 0; i < 3; i++)
		asking[i] = (struct asking){.store = made_store(index), .done = &done};
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &asking[i]), 0);
	for (unsigned int i = 0; i < 8; i++) {
		made_add(index, &films[i], i % 2 ? "alpha" : "beta");
		assert_int_equal(index_compact(index, START + i * 15 * MINUTE, &why), 0);
	}
	assert_int_equal(index_forget(index, films[7].path, &why), 0);
	atomic_store(&done, true);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_true(asking[i].answers > 0);
		assert_int_equal(asking[i].wrong, 0);
	}
	index_free(index);
	unlink(path);
	for (int i = 0; i < 8; i++)
		made_film_free(&films[i]);
}

static void test_damaged(void **state)
{
	char path[] = "/tmp/stackcam-index-XXXXXX";
	struct index_options options = {.path = path};
	struct index *index;
	struct fail why = {0};
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "this is no index, and no database", 33), 33);
	close(fd);
	assert_int_equal(index_open(&options, &index, &why), -EBADMSG);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
