// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/cpu_jumps.h"
#include "host/triggers.h"

#define SECOND_NS 1000000000ull

static void take_last(void *context, const struct happening *happening)
{
	*(struct happening *)context = *happening;
}

/*
 * A real process: this one, which takes a fifth of a second of CPU between looks that are a second
 * apart.
 */
static void a_process(void **state)
{
	struct happening last = {0};
	const struct happening_listener listener = {take_last, &last};
	struct selection programs = {0};
	struct cpu_jumps *jumps;
	struct fail why = {0};
	char name[16], words[256];
	FILE *comm = fopen("/proc/self/comm", "r");

	(void)state;
	assert_non_null(comm);
	assert_non_null(fgets(name, sizeof(name), comm));
	fclose(comm);
	name[strcspn(name, "\n")] = 0;
	assert_int_equal(selection_add_name(&programs, name, &why), 0);
	assert_int_equal(selection_check(&programs, &why), 0);
	jumps = cpu_jumps_new(&programs, 10);
	assert_non_null(jumps);
	for (uint64_t second = 1; second <= 10; second++)
		assert_int_equal(cpu_jumps_look(jumps, second * SECOND_NS, &listener, &why), 0);
	assert_int_equal(last.pid, 0);
	for (uint64_t second = 11; second <= 13; second++) {
		clock_t end = clock() + CLOCKS_PER_SEC / 5;

		while (clock() < end)
			;
		assert_int_equal(cpu_jumps_look(jumps, second * SECOND_NS, &listener, &why), 0);
	}
	assert_int_equal(last.pid, getpid());
	assert_int_equal(last.time, 13 * SECOND_NS);
	assert_true(last.percent >= 15 && last.percent <= 30);
	assert_non_null(trigger_of(&last, words, sizeof(words)));
	assert_non_null(strstr(words, " CPUs, and usually 0.0"));
	cpu_jumps_free(jumps);
	selection_free(&programs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
