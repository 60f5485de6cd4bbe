// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "answers.h"
#include "film_build.h"

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
		 {{"", "[owner: web (10)]", "", 5000, 1, 5000},
		  {"", "[owner: other (11)]", "", 330, 2, 300}}},
		{"lock,waker",
		 {{first, "", "[woken by web (10)]", 5000, 1, 5000},
		  {first, "", "[woken by other (11)]", 300, 1, 300},
		  {second, "", "[woken by other (11)]", 30, 1, 30}}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct film_build b;
		struct film *film;
		struct question q = {0};
		struct report report;
		struct fail why = {0};

		film_build_locks(&b, "other");
		film = film_build_open(&b);
		assert_int_equal(question_parse(&q, QUESTION_BY, cases[i].by, NULL), 0);
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
