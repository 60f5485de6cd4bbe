// SPDX-License-Identifier: Apache-2.0
/*
 * What a collector has sent to ClickHouse: kept over restarts, damage and lost files; losses are
 * counted.
 */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/fleet/ledger.h"

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/stackcam-ledger-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static void path_of(const char *name, char *to, size_t size)
{
	snprintf(to, size, "%s/%s", folder, name);
}

static void remove_file(const char *name)
{
	char path[128];

	path_of(name, path, sizeof(path));
	unlink(path);
}

static int tear_down(void **state)
{
	static const char *const names[] = {"collector", "sums.db", "sums.db-wal", "sums.db-shm"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove_file(names[i]);
	return rmdir(folder);
}

static struct ledger *open_ledger(void)
{
	struct ledger *ledger = NULL;
	struct fail why = {0};

	if (ledger_open(folder, &ledger, &why))
		fail_msg("%s", why.what);
	return ledger;
}

static bool is_new(struct ledger *ledger, uint64_t hour, uint64_t samples)
{
	const struct ledger_hour seen = {"on-cpu", "it's a web", hour, samples};
	bool result = false;

	assert_int_equal(ledger_see(ledger, &seen, &result, NULL), 0);
	return result;
}

static void confirm(struct ledger *ledger, uint64_t hour, uint64_t samples)
{
	const struct ledger_hour sent = {"on-cpu", "it's a web", hour, samples};

	assert_int_equal(ledger_confirm(ledger, &sent, 1, NULL), 0);
}

static void test_what_was_confirmed_is_not_new(void **state)
{
	struct ledger *ledger = open_ledger();

	(void)state;
	assert_true(is_new(ledger, 7, 10));
	/* it was not confirmed */
	assert_true(is_new(ledger, 7, 10));
	confirm(ledger, 7, 10);
	assert_false(is_new(ledger, 7, 10));
	assert_true(is_new(ledger, 7, 11));
	assert_true(is_new(ledger, 8, 1));
	ledger_free(ledger);
	ledger = open_ledger();
	assert_false(is_new(ledger, 7, 10));
	assert_true(is_new(ledger, 7, 12));
	ledger_free(ledger);
}

static void test_a_lost_list_keeps_the_name_and_the_order(void **state)
{
	struct ledger *ledger = open_ledger();
	uint64_t batch = ledger_batch(ledger);
	char name[32], path[128];
	FILE *file;

	(void)state;
	assert_true(is_new(ledger, 7, 10));
	confirm(ledger, 7, 10);
	snprintf(name, sizeof(name), "%s", ledger_collector(ledger));
	assert_int_equal(strlen(name), 16);
	ledger_free(ledger);

	path_of("sums.db", path, sizeof(path));
	file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fputs("not a database ", file);
	fclose(file);
	ledger = open_ledger();
	/* all is sent again, replaces what was sent, and is the same collector's */
	assert_true(is_new(ledger, 7, 10));
	assert_true(ledger_batch(ledger) > batch);
	assert_string_equal(ledger_collector(ledger), name);
	ledger_free(ledger);
}

static void test_a_broken_name_is_not_replaced(void **state)
{
	struct ledger *ledger = NULL;
	struct fail why = {0};
	char path[128];
	FILE *file;

	(void)state;
	ledger_free(open_ledger());
	path_of("collector", path, sizeof(path));
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("0123456789abcde\n", file);
	fclose(file);
	/* under another name its sums would count twice */
	assert_true(ledger_open(folder, &ledger, &why) < 0);
	assert_null(ledger);
	assert_non_null(strstr(why.what, "collector"));
}

static void test_losses_are_counted_once(void **state)
{
	struct ledger *ledger = open_ledger();
	uint64_t lost;

	(void)state;
	assert_true(is_new(ledger, 7, 10));
	confirm(ledger, 7, 10);
	assert_true(is_new(ledger, 7, 25));
	assert_true(is_new(ledger, 8, 100));
	assert_int_equal(ledger_forget(ledger, 7, &lost, NULL), 0);
	assert_int_equal(lost, 0);
	/* the films of hour 7 are gone, and 15 of its samples were never sent */
	assert_int_equal(ledger_forget(ledger, 8, &lost, NULL), 0);
	assert_int_equal(lost, 15);
	assert_int_equal(ledger_forget(ledger, 8, &lost, NULL), 0);
	assert_int_equal(lost, 0);
	assert_true(is_new(ledger, 8, 100));
	ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_was_confirmed_is_not_new, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_lost_list_keeps_the_name_and_the_order,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_broken_name_is_not_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_losses_are_counted_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
