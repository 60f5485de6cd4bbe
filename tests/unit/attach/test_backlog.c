// SPDX-License-Identifier: Apache-2.0
/* What was put aside comes back whole and in order, of any size, and takes no memory then. */
#include "../prelude.h"

#include <string.h>

#include "attach/backlog.h"

#define LARGEST (80u << 10)

/* As in a ring: the length of what follows a header of 8 bytes. */
static uint32_t make(uint64_t *record, uint32_t number)
{
	uint32_t words = number % 7 == 6 ? LARGEST / 8 : 1 + number % 97;

	for (uint32_t i = 0; i <= words; i++)
		record[i] = (uint64_t)number << 32 | i;
	record[0] = words * 8;
	return (words + 1) * 8;
}

static void put(struct backlog *backlog, uint32_t number)
{
	static uint64_t record[LARGEST / 8 + 1];

	assert_true(backlog_put(backlog, record, make(record, number)));
}

static void take(struct backlog *backlog, uint32_t number)
{
	static uint64_t expected[LARGEST / 8 + 1];
	uint32_t bytes = make(expected, number);
	const void *head = backlog_head(backlog);

	assert_non_null(head);
	assert_int_equal((uintptr_t)head % 8, 0);
	assert_memory_equal(head, expected, bytes);
	backlog_drop(backlog, bytes);
}

static void comes_back_in_order(void **state)
{
	struct backlog backlog = {0};
	uint32_t in = 0, out = 0;

	(void)state;
	assert_null(backlog_head(&backlog));
	/* mostly more comes in than goes out; at the end all goes out */
	for (int turn = 0; turn < 100; turn++) {
		for (int i = 0; i < 23; i++)
			put(&backlog, in++);
		for (int i = 0; i < 17 + turn % 8 && out < in; i++)
			take(&backlog, out++);
	}
	while (out < in)
		take(&backlog, out++);
	assert_null(backlog_head(&backlog));
	assert_null(backlog.first);
	assert_null(backlog.last);
	/* and it can be used again */
	put(&backlog, 1);
	take(&backlog, 1);
	assert_null(backlog_head(&backlog));
}

static void is_freed_in_the_middle(void **state)
{
	struct backlog backlog = {0};

	(void)state;
	for (uint32_t i = 0; i < 50; i++)
		put(&backlog, i);
	take(&backlog, 0);
	backlog_free(&backlog);
	assert_null(backlog_head(&backlog));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_in_order),
		cmocka_unit_test(is_freed_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
