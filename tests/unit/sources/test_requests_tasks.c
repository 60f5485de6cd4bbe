// SPDX-License-Identifier: Apache-2.0
/* For which request a task of an event loop makes another one. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>

#include "sources/requests/tasks.h"

#define PROCESS 7

struct given {
	uint64_t made[64], parent[64];
	unsigned int count;
};

static void give(void *context, void *kept, uint64_t parent)
{
	struct given *given = context;

	given->made[given->count] = *(uint64_t *)kept;
	given->parent[given->count++] = parent;
	free(kept);
}

static void over(struct requests_tasks *tasks, uint64_t number)
{
	uint64_t *kept = malloc(sizeof(*kept));

	assert_non_null(kept);
	*kept = number;
	if (!requests_tasks_over(tasks, number, kept))
		free(kept);
}

static void made(struct requests_tasks *tasks, uint64_t task, uint64_t number, uint64_t time)
{
	assert_true(requests_tasks_made(tasks, task, PROCESS, number, time));
}

/* Each request of a connection has the number of that, and hundreds. */
static void answered(struct requests_tasks *tasks, uint64_t task, uint64_t served, uint64_t begun,
		     uint64_t time)
{
	const struct requests_tasks_answer answer = {
		.pid = PROCESS,
		.served = served,
		.connection = served % 100,
		.begun = begun,
		.time = time,
	};

	requests_tasks_answered(tasks, task, &answer);
}

static void tick(struct requests_tasks *tasks, uint64_t oldest)
{
	struct map map = {0};

	if (oldest)
		assert_true(map_put(&map, PROCESS, oldest));
	requests_tasks_tick(tasks, &map);
	map_free(&map);
}

/* What was given, in order: "made for parent". */
static void check(struct given *given, const char *expected)
{
	char text[1024] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < given->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d for %d",
					 i ? ", " : "", (int)given->made[i], (int)given->parent[i]);
	assert_string_equal(text, expected);
	given->count = 0;
}

/* Two tasks work at the same time; one makes two requests, one of them outlasts the answer. */
static void test_tasks(void **state)
{
	struct given given = {0};
	struct requests_tasks *tasks = requests_tasks_new(give, &given);

	(void)state;
	made(tasks, 1, 501, 110);
	made(tasks, 2, 502, 120);
	made(tasks, 1, 503, 130);
	over(tasks, 502);
	over(tasks, 501);
	answered(tasks, 2, 2, 105, 140);
	answered(tasks, 1, 1, 100, 150);
	check(&given, "");
	over(tasks, 503);
	/* the process has answered too little to be believed sooner */
	tick(tasks, 0);
	check(&given, "502 for 2, 501 for 1, 503 for 1");
	/* the next request of a connection, and what was made in between */
	made(tasks, 1, 504, 155);
	over(tasks, 504);
	made(tasks, 1, 505, 170);
	over(tasks, 505);
	answered(tasks, 1, 101, 160, 180);
	tick(tasks, 0);
	check(&given, "504 for 0, 505 for 101");
	requests_tasks_free(tasks);
}

/* A long answer, during which the task goes on to make requests for it. */
static void test_long_answers(void **state)
{
	struct given given = {0};
	struct requests_tasks *tasks = requests_tasks_new(give, &given);

	(void)state;
	answered(tasks, 1, 1, 100, 110);
	made(tasks, 1, 501, 120);
	over(tasks, 501);
	answered(tasks, 1, 1, 100, 130);
	tick(tasks, 0);
	check(&given, "501 for 1");
	requests_tasks_free(tasks);
}

/* A task that answers nothing: nothing is kept for longer than something is served. */
static void test_tasks_without_an_answer(void **state)
{
	struct given given = {0};
	struct requests_tasks *tasks = requests_tasks_new(give, &given);

	(void)state;
	made(tasks, 1, 501, 110);
	over(tasks, 501);
	tick(tasks, 100);
	check(&given, "");
	tick(tasks, 111);
	check(&given, "501 for 0");
	made(tasks, 1, 502, 120);
	tick(tasks, 0);
	over(tasks, 502);
	check(&given, "502 for 0");
	assert_false(requests_tasks_over(tasks, 503, NULL));
	/* what is kept at the end is given */
	made(tasks, 1, 504, 130);
	over(tasks, 504);
	requests_tasks_free(tasks);
	check(&given, "504 for 0");
}

/* A worker that has several requests at a time: which of them it asks for is not known. */
static void test_workers(void **state)
{
	struct given given = {0};
	struct requests_tasks *tasks = requests_tasks_new(give, &given);

	(void)state;
	for (unsigned int i = 0; i < 30; i++) {
		uint64_t time = 1000 * (i + 1);

		made(tasks, 1, 500 + 2 * i, time);
		made(tasks, 1, 501 + 2 * i, time + 10);
		over(tasks, 500 + 2 * i);
		over(tasks, 501 + 2 * i);
		answered(tasks, 1, 1 + 100 * i, time - 20, time + 20);
		answered(tasks, 1, 2 + 100 * i, time - 10, time + 30);
	}
	requests_tasks_flush(tasks);
	assert_int_equal(given.count, 60);
	for (unsigned int i = 0; i < given.count; i++)
		assert_int_equal(given.parent[i], 0);
	requests_tasks_free(tasks);
}

/* Many tasks that answer one request each, and end; another one has the place of one of them. */
static void test_many_tasks(void **state)
{
	struct given given = {0};
	struct requests_tasks *tasks = requests_tasks_new(give, &given);
	unsigned int right = 0;

	(void)state;
	for (uint64_t i = 1; i <= 20000; i++) {
		given.count = 0;
		made(tasks, i % 9000, 50000 + i, 10 * i);
		answered(tasks, i % 9000, 100 * i + i % 50, 10 * i - 1, 10 * i + 1);
		over(tasks, 50000 + i);
		if (!(i % 1000))
			tick(tasks, 0);
		right += given.count && given.parent[0] == 100 * i + i % 50;
	}
	/* all but those that were kept until enough had been answered */
	assert_true(right > 19900);
	requests_tasks_free(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_long_answers),
		cmocka_unit_test(test_tasks_without_an_answer),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_many_tasks),
	};

	return cmocka_run_group_tests_name("camera-requests_tasks", tests, NULL, NULL);
}
