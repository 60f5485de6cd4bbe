// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/until.h"

#define MILLISECOND_NS 1000000ull
#define DURATION       (50 * MILLISECOND_NS)

static void count(void *context)
{
	++*(int *)context;
}

/* What runs beside ends: that is reported once, at once, and all else goes on for its time. */
static void beside_ends(void **state)
{
	int ended = eventfd(0, EFD_CLOEXEC), calls = 0;
	struct until until = {
		.signals = -1,
		.duration = DURATION,
		.beside = ended,
		.beside_ended = count,
		.context = &calls,
	};
	uint64_t begin = clock_ns();

	(void)state;
	assert_int_equal(until_end(&until), 0);
	assert_int_equal(calls, 0);
	assert_int_equal(eventfd_write(ended, 1), 0);
	assert_int_equal(until_end(&until), 0);
	assert_int_equal(calls, 1);
	assert_true(clock_ns() - begin >= 2 * DURATION);
	close(ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(beside_ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
