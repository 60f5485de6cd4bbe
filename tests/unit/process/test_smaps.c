// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vec.h"
#include "process/resident.h"
#include "process/smaps.h"

static const char text[] = "55d0-55d4 r--p 00000000 fe:00 10 /bin/a b\n"
			   "Size:                 16 kB\n"
			   "Rss:                  8 kB\n"
			   "Anonymous:            4 kB\n"
			   "VmFlags: rd mr mw me sd\n"
			   "10000-20000 rw-s 00000000 00:01 7 /dev/shm/x (deleted)\n"
			   "Rss:                  64 kB\n"
			   "Anonymous:            0 kB\n"
			   "20000-30000 ---p 00000000 00:00 0\n"
			   "Rss:                  18446744073709551615 kB\n"
			   "Anonymous:            99999999 kB\n"
			   "not a mapping\n"
			   "Rss:                  4 kB\n";

struct got {
	size_t count;
	struct smaps_mapping all[4];
	char paths[4][32];
};

static void take(void *context, const struct smaps_mapping *mapping)
{
	struct got *got = context;

	assert_true(got->count < 4);
	strncpy(got->paths[got->count], mapping->at.path, 31);
	got->all[got->count++] = *mapping;
}

static void what_is_in_ram(void **state)
{
	char copy[sizeof(text)];
	struct got got = {0};

	(void)state;
	memcpy(copy, text, sizeof(text));
	smaps_parse(copy, take, &got);
	assert_int_equal(got.count, 3);
	/* more than it has room for is cut */
	assert_int_equal(got.all[0].rss, 4);
	assert_int_equal(got.all[1].rss, 65536);
	assert_int_equal(got.all[1].anonymous, 0);
	assert_true(got.all[1].at.shared && got.all[1].at.writable && got.all[1].at.readable);
	assert_string_equal(got.paths[1], "/dev/shm/x");
	/* a number that is none counts as nothing */
	assert_int_equal(got.all[2].rss, 0);
	assert_false(got.all[2].at.readable || got.all[2].at.shared);
}

static void fields_of_status(void **state)
{
	const char *status = "Name:\tx\nVmPTE:\t      48 kB\nVmSwap:\t       4 kB\nThreads:\t3\n";

	(void)state;
	assert_int_equal(procfs_kb(status, "VmPTE"), 48 << 10);
	assert_int_equal(procfs_kb(status, "Threads"), 3 << 10);
	assert_int_equal(procfs_kb(status, "VmNone"), 0);
	assert_int_equal(procfs_kb("", "VmPTE"), 0);
}

static void only_what_is_there_is_read(void **state)
{
	struct resident memory;
	uint64_t *pages = mmap(NULL, 4 * RESIDENT_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)pages, word;
	unsigned char there[4];

	(void)state;
	assert_true(pages != MAP_FAILED);
	pages[0] = 1;
	pages[512] = 2;
	pages[3 * 512 + 1] = 3;
	assert_int_equal(resident_open(&memory, getpid()), 0);
	resident_forget(&memory, at + 4 * RESIDENT_PAGE);
	assert_true(resident_word(&memory, at + RESIDENT_PAGE, &word));
	assert_int_equal(word, 2);
	assert_true(resident_word(&memory, at, &word));
	assert_int_equal(word, 1);
	assert_false(resident_word(&memory, at + 2 * RESIDENT_PAGE, &word));
	assert_false(resident_word(&memory, at + 4 * RESIDENT_PAGE, &word));
	assert_true(resident_word(&memory, at + 3 * RESIDENT_PAGE + 8, &word));
	assert_int_equal(word, 3);
	assert_int_equal(resident_bytes(&memory, at + 100, at + 4 * RESIDENT_PAGE - 100),
			 3 * RESIDENT_PAGE - 200);
	assert_true(resident_read(&memory, &word, 8, at + RESIDENT_PAGE - 4));
	assert_false(resident_read(&memory, &word, 8, at + 2 * RESIDENT_PAGE - 4));
	/* and has not come by that */
	assert_int_equal(mincore(pages, 4 * RESIDENT_PAGE, there), 0);
	assert_false(there[2] & 1);
	resident_close(&memory);
	munmap(pages, 4 * RESIDENT_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_ram),
		cmocka_unit_test(fields_of_status),
		cmocka_unit_test(only_what_is_there_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
