// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/pressure.h"
#include "host/triggers.h"

#define SECOND_NS 1000000000ull

struct told {
	int count;
	struct happening last;
};

static void take(void *context, const struct happening *happening)
{
	struct told *told = context;

	told->count++;
	told->last = *happening;
}

static void write_file(const char *folder, const char *name, const char *words)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(words, file);
	fclose(file);
}

static void write_total(const char *folder, const char *name, unsigned long long us)
{
	char words[256];

	snprintf(words, sizeof(words),
		 "some avg10=1.00 avg60=2.00 avg300=3.00 total=%llu\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		 us);
	write_file(folder, name, words);
}

static void a_jump(void **state)
{
	char folder[] = "/tmp/stackcam-pressure.XXXXXX", path[64], words[256];
	struct pressure pressure = {0};
	struct told told = {0};
	const struct happening_listener listener = {take, &told};
	unsigned long long memory = 1000, disks = 5000;

	(void)state;
	assert_non_null(mkdtemp(folder));
	/* a kernel that has none */
	pressure_look(&pressure, folder, SECOND_NS, 40, &listener);
	for (uint64_t second = 2; second <= 20; second++) {
		memory += second > 15 ? 700000 : 50000; /* us of a second */
		disks += 300000;
		write_total(folder, "memory", memory);
		write_total(folder, "io", disks);
		pressure_look(&pressure, folder, second * SECOND_NS, 40, &listener);
	}
	assert_int_equal(told.count, 1);
	assert_int_equal(told.last.time, 18 * SECOND_NS);
	assert_non_null(trigger_of(&told.last, words, sizeof(words)));
	assert_non_null(strstr(words, "wait for memory 70 % of the time, and usually "));
	/*
	 * what is not understood is as if it were not there, and a total that goes back begins anew
	 */
	write_file(folder, "memory", "some total=9");
	write_file(folder, "io", "");
	pressure_look(&pressure, folder, 21 * SECOND_NS, 40, &listener);
	write_total(folder, "memory", 1);
	pressure_look(&pressure, folder, 22 * SECOND_NS, 40, &listener);
	write_total(folder, "memory", 0);
	pressure_look(&pressure, folder, 23 * SECOND_NS, 40, &listener);
	assert_int_equal(told.count, 1);
	snprintf(path, sizeof(path), "%s/memory", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/io", folder);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
