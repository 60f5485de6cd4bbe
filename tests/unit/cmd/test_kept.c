// SPDX-License-Identifier: Apache-2.0
/* A recording that lost everything does not end as one that has something. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/kept.h"

/* What is said meanwhile goes into `said`. */
static int status_of(int status, struct kept kept, char *said, size_t size)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO), answer;
	size_t length;

	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	answer = kept_exit_status(status, &kept, "calls");
	fflush(stderr);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	rewind(file);
	length = fread(said, 1, size - 1, file);
	said[length] = 0;
	fclose(file);
	return answer;
}

static void test_all_was_lost(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(status_of(0, (struct kept){.lost = 1200}, said, sizeof(said)),
			 EXIT_FAILURE);
	assert_non_null(
		strstr(said, "stackcam: nothing was recorded: all 1,200 calls were lost; "));
	/* that of the command, if it failed itself */
	assert_int_equal(status_of(7, (struct kept){.lost = 1}, said, sizeof(said)), 7);
	assert_non_null(strstr(said, "nothing was recorded"));
}

static void test_some_was_kept(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(status_of(0, (struct kept){1, 1000000}, said, sizeof(said)), 0);
	assert_string_equal(said, "");
	assert_int_equal(status_of(7, (struct kept){1, 0}, said, sizeof(said)), 7);
	assert_string_equal(said, "");
}

static void test_nothing_happened(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(status_of(0, (struct kept){0}, said, sizeof(said)), 0);
	assert_int_equal(status_of(3, (struct kept){0}, said, sizeof(said)), 3);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_was_lost),
		cmocka_unit_test(test_some_was_kept),
		cmocka_unit_test(test_nothing_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
