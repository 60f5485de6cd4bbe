// SPDX-License-Identifier: Apache-2.0
/* Names of tasks are a process's own words. */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>

#include "sources/lanes/task_names.h"

#define PID 7

static void give(struct task_names *names, uint64_t number, uint32_t counted, const char *name,
		 const char *qualified)
{
	struct tasks_named named = {.number = number, .pid = PID, .counted = counted};

	/* as it is read: cut, and then without a zero byte */
	memcpy(named.name, name, strnlen(name, sizeof(named.name)));
	memcpy(named.qualified, qualified, strnlen(qualified, sizeof(named.qualified)));
	task_names_add(names, &named);
}

static const char *get(const struct task_names *names, uint64_t number)
{
	static char name[TASK_NAME_MAX];

	task_names_get(names, number, name);
	return name;
}

static void test_names(void **state)
{
	struct task_names names = {0};

	(void)state;
	assert_string_equal(get(&names, 3), "task 3");
	give(&names, 3, 0, "Task-1", "Server.run");
	assert_string_equal(get(&names, 3), "Task-1 Server.run");
	/* since 3.13 a name that was not asked for is a number */
	give(&names, 4, 12, "", "main");
	assert_string_equal(get(&names, 4), "Task-12 main");
	/* it got another one */
	give(&names, 3, 0, "reader", "Server.run");
	assert_string_equal(get(&names, 3), "reader Server.run");
	give(&names, 5, 0, "alone", "");
	assert_string_equal(get(&names, 5), "alone");
	task_names_remove(&names, 3);
	assert_string_equal(get(&names, 3), "task 3");
	task_names_ended(&names, PID + 1);
	assert_string_equal(get(&names, 5), "alone");
	task_names_ended(&names, PID);
	assert_string_equal(get(&names, 5), "task 5");
	task_names_free(&names);
}

static void test_what_is_no_text(void **state)
{
	struct task_names names = {0};
	char name[TASKS_NAME_MAX + 1], qualified[TASKS_QUALIFIED_MAX + 1];
	char whole[TASK_NAME_MAX];

	(void)state;
	give(&names, 1, 0, "\x1b[31m", "main");
	assert_string_equal(get(&names, 1), "main");
	give(&names, 2, 0, "\xc3\xa4", "\x01");
	assert_string_equal(get(&names, 2), "task 2");
	memset(name, 'n', sizeof(name) - 1);
	memset(qualified, 'q', sizeof(qualified) - 1);
	name[sizeof(name) - 1] = qualified[sizeof(qualified) - 1] = 0;
	give(&names, 3, 0, name, qualified);
	snprintf(whole, sizeof(whole), "%s %s", name, qualified);
	assert_string_equal(get(&names, 3), whole);
	task_names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_is_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
