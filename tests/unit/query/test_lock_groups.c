// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "answers.h"
#include "film/events.h"
#include "film_build.h"

/*
 * Waits of a worker for two locks: for the first one twice, which two threads ended, the second
 * time in two parts; for the other one once.
 */
static struct film *film_of_locks(void)
{
	struct film_build b;
	uint32_t web, other, worker;
	struct film_lock wait = {.kind = FILM_LOCK_MUTEX, .context = FILM_WAIT_BY_THREAD};

	film_build_begin(&b, event_type(EVENT_LOCK)->name, "ns");
	web = film_build_thread(&b, 10, "web", 10, "web");
	other = film_build_thread(&b, 10, "web", 11, "other");
	worker = film_build_thread(&b, 10, "web", 12, "worker");
	b.end += 1000000000;
	wait.thread = worker;
	wait.stack = film_build_stack(&b, "main;lock");
	wait.address = 0x1000;
	wait.end = FILM_BUILD_START + 1000000;
	wait.duration = 5000;
	wait.waker = wait.holder = web;
	wait.sure = FILM_HOLDER_OWNER;
	film_lock(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 200;
	wait.waker = other;
	film_lock(b.w, b.event, &wait);
	wait.end += 100;
	wait.duration = 100;
	film_lock(b.w, b.event, &wait);
	wait.end += 1000000;
	wait.duration = 30;
	wait.address = 0x2000;
	wait.holder = other;
	film_lock(b.w, b.event, &wait);
	return film_build_open(&b);
}

static const char *name_of(const struct label *mark)
{
	return mark ? mark->name : "";
}

/* What a group by these has: all of its waits, and none of another group's. */
static void test_groups(void **state)
{
	static const char first[] = "[mutex 0x1000 of web (10)]";
	static const char second[] = "[mutex 0x2000 of web (10)]";
	static const struct {
		const char *by;
		struct {
			const char *lock, *holder, *waker;
			uint64_t total, waits, longest;
		} groups[3];
	} cases[] = {
		{"lock", {{first, "", "", 5300, 2, 5000}, {second, "", "", 30, 1, 30}}},
		{"holder",
		 {{"", "[owner: web (10)]", "", 5300, 2, 5000},
		  {"", "[owner: other (11)]", "", 30, 1, 30}}},
		{"lock,waker",
		 {{first, "", "[woken by web (10)]", 5000, 1, 5000},
		  {first, "", "[woken by other (11)]", 300, 1, 300},
		  {second, "", "[woken by other (11)]", 30, 1, 30}}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct film *film = film_of_locks();
		struct question q = {0};
		struct report report;
		struct fail why = {0};

		assert_int_equal(question_take(&q, QUESTION_BY, cases[i].by, NULL), 0);
		assert_int_equal(report_make(film, &q, false, &report, &why), 0);
		answer_check(&report.flame, &report.functions);
		for (size_t row = 0; row < 3 && cases[i].groups[row].total; row++) {
			const struct group *group = &report.groups.at[row];

			assert_true(row < report.groups.count);
			assert_string_equal(name_of(group->lock), cases[i].groups[row].lock);
			assert_string_equal(name_of(group->holder), cases[i].groups[row].holder);
			assert_string_equal(name_of(group->waker), cases[i].groups[row].waker);
			assert_int_equal(group->total, cases[i].groups[row].total);
			assert_int_equal(group->waits, cases[i].groups[row].waits);
			assert_int_equal(group->longest, cases[i].groups[row].longest);
		}
		report_free(&report);
		question_free(&q);
		film_free(film);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
