// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "process/resident.h"

#define PAGES(n) ((uint64_t)(n)*RESIDENT_PAGE)

/* A memory in which every third page is missing; each word is its address. */
struct memory {
	uint64_t looked, read; /* pages */
};

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	struct memory *memory = context;

	memory->read += size / RESIDENT_PAGE;
	for (size_t i = 0; i < size; i += sizeof(address), address += sizeof(address))
		memcpy((char *)to + i, &address, sizeof(address));
	return 0;
}

static int look(void *context, uint64_t address, size_t count, bool *is)
{
	struct memory *memory = context;

	memory->looked += count;
	for (size_t i = 0; i < count; i++)
		is[i] = (address / RESIDENT_PAGE + i) % 3 != 2;
	return 0;
}

static void test_pages_that_are_there(void **state)
{
	struct memory memory = {0};
	struct resident resident = {.context = &memory, .read = read_memory, .present = look};
	uint64_t word;

	(void)state;
	resident_forget(&resident, PAGES(3000));
	assert_int_equal(resident_bytes(&resident, 0, PAGES(3000)), PAGES(2000));
	assert_int_equal(resident_bytes(&resident, 100, PAGES(1)), RESIDENT_PAGE - 100);
	assert_true(resident_word(&resident, PAGES(4) + 8, &word));
	assert_int_equal(word, PAGES(4) + 8);
	assert_false(resident_word(&resident, PAGES(5), &word));
	assert_false(resident_word(&resident, PAGES(3000), &word));
	assert_false(resident.is_spent);
	free(resident.bytes);
}

static void test_a_piece_with_holes(void **state)
{
	struct memory memory = {0};
	struct resident resident = {.context = &memory, .read = read_memory, .present = look};
	uint64_t words[3 * RESIDENT_PAGE / sizeof(uint64_t)];
	const size_t half = RESIDENT_PAGE / 2;

	(void)state;
	resident_forget(&resident, PAGES(3000));
	/* half of a page, a whole one, none, half of one */
	memset(words, 7, sizeof(words));
	assert_int_equal(resident_piece(&resident, words, sizeof(words), half),
			 half + RESIDENT_PAGE + half);
	assert_int_equal(words[0], half);
	assert_int_equal(words[(half + RESIDENT_PAGE) / 8 - 1], PAGES(2) - 8);
	assert_int_equal(words[(half + RESIDENT_PAGE) / 8], 0);
	assert_int_equal(words[(half + PAGES(2)) / 8], PAGES(3));
	free(resident.bytes);
}

/* Of 20 TB that are reserved, it looks at no more than it may, and returns at once. */
static void test_so_many_pages_are_looked_at(void **state)
{
	struct memory memory = {0};
	struct resident resident = {.context = &memory, .read = read_memory, .present = look};

	(void)state;
	resident_forget(&resident, PAGES(5ull << 30));
	resident_allow(&resident, 1024, 1024);
	assert_int_equal(resident_bytes(&resident, 0, PAGES(5ull << 30)), PAGES(683));
	assert_true(resident.is_spent);
	assert_int_equal(memory.looked, 1024);
	assert_false(resident_has(&resident, PAGES(1 << 20)));
	/* another part of the memory may have more */
	resident_allow(&resident, 256, 0);
	resident_forget(&resident, PAGES(300));
	assert_true(resident_has(&resident, PAGES(3)));
	assert_false(resident.is_spent);
	free(resident.bytes);
}

static void test_so_many_pages_are_read(void **state)
{
	struct memory memory = {0};
	struct resident resident = {.context = &memory, .read = read_memory, .present = look};
	uint64_t word, read = 0;

	(void)state;
	resident_forget(&resident, PAGES(3000));
	resident_allow(&resident, UINT64_MAX, 9);
	for (uint64_t page = 0; page < 3000 && !resident.is_spent; page++)
		read += resident_word(&resident, PAGES(page), &word);
	/* two at a time, so that the last one is left */
	assert_int_equal(read, 8);
	assert_int_equal(memory.read, 8);
	assert_true(resident.is_spent);
	free(resident.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_that_are_there),
		cmocka_unit_test(test_a_piece_with_holes),
		cmocka_unit_test(test_so_many_pages_are_looked_at),
		cmocka_unit_test(test_so_many_pages_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
