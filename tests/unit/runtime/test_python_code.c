// SPDX-License-Identifier: Apache-2.0
/* Python 3.11: the code object of a frame, by what was remembered of its function's number. */
// clang-format off
// clang-format on

#include "../prelude.h"

#include <string.h>

#define HERE_REMEMBERS_WORDS
#include "bpf/unwind/unwind.h"

/* One word is remembered, as a cache may lose any other. */
struct here {
	struct unwind_walk walk;
	uint64_t key, word;
	unsigned int reads;
	uint8_t memory[4096];
};

static inline void unwind_recall_words(const struct unwind_walk *w, __u64 at, __u64 words[2])
{
	const struct here *here = (const struct here *)w;

	words[0] = here->key == at ? here->word : 0;
	words[1] = 0;
}

static inline void unwind_remember_words(const struct unwind_walk *w, __u64 at, __u64 first,
					 __u64 second)
{
	struct here *here = (struct here *)(uintptr_t)w;

	(void)second;
	here->key = at;
	here->word = first;
}

#include "no_tables.h"

#define BASE	 0x7f0000000000ull
#define FUNCTION (BASE + 0x100)
#define CODE	 (BASE + 0x200)
#define OTHER	 (BASE + 0x400)
#define NAME	 (BASE + 0x800)

/* PyFunctionObject, PyCodeObject and PyASCIIObject of 3.11. */
#define FUNCTION_CODE	48
#define FUNCTION_NUMBER 128
#define CODE_NAME	120
#define NAME_HASH	24

static const struct python_data data = {
	.function_number = FUNCTION_NUMBER,
	.code_from = 56,
	.code_words = 0x7ff,
	.code_name = 8,
	.name_hash = NAME_HASH,
	.name_text = 48,
};

static inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	struct here *here = (struct here *)(uintptr_t)w;
	uint64_t offset = address - BASE;

	here->reads++;
	if (offset > sizeof(here->memory) || size > sizeof(here->memory) - offset)
		return -1;
	memcpy(to, here->memory + offset, size);
	return 0;
}

static void put(struct here *here, uint64_t address, uint64_t value)
{
	memcpy(here->memory + (address - BASE), &value, sizeof(value));
}

/* A function with this number, and two code objects with names of their own. */
static void make(struct here *here, uint64_t number)
{
	memset(here, 0, sizeof(*here));
	put(here, FUNCTION + FUNCTION_CODE, CODE);
	put(here, FUNCTION + FUNCTION_NUMBER, number);
	put(here, CODE + CODE_NAME, NAME);
	put(here, NAME + NAME_HASH, 1234);
	put(here, OTHER + CODE_NAME, NAME + 0x100);
	put(here, NAME + 0x100 + NAME_HASH, 5678);
}

/* The sum of a frame's code object; reads: how many it takes. */
static uint32_t sum_of(struct here *here, uint64_t code, unsigned int reads)
{
	const struct python_frame frame = {.code = code, .function = FUNCTION};
	uint32_t sum = 0;

	here->reads = 0;
	assert_int_not_equal(python_identify(&here->walk, &data, &frame, &sum), PYTHON_UNCHECKED);
	assert_int_equal(here->reads, reads);
	return sum;
}

static uint32_t true_sum(struct here *here, uint64_t code)
{
	uint32_t sum = 0;

	assert_int_equal(python_check(&here->walk, &data, code, &sum), PYTHON_CHECKED_NOW);
	return sum;
}

/* Until it takes one read. */
static uint32_t learn(struct here *here)
{
	/* what is seen only once is not looked at */
	sum_of(here, CODE, 2);
	sum_of(here, CODE, 3);
	return sum_of(here, CODE, 1);
}

static void a_number_stands_for_the_code(void **state)
{
	static struct here here;

	(void)state;
	make(&here, 77);
	assert_int_equal(learn(&here), true_sum(&here, CODE));
	/* another process, or something has taken its place in the cache */
	here.key = 0;
	assert_int_equal(learn(&here), true_sum(&here, CODE));
}

static void another_number_is_other_code(void **state)
{
	static struct here here;
	uint32_t sum;

	(void)state;
	make(&here, 77);
	sum = learn(&here);
	/* a new function and a new code object in the same places */
	put(&here, FUNCTION + FUNCTION_NUMBER, 78);
	put(&here, NAME + NAME_HASH, 4321);
	assert_int_not_equal(true_sum(&here, CODE), sum);
	assert_int_equal(sum_of(&here, CODE, 3), true_sum(&here, CODE));
	/* it is not specialized yet */
	make(&here, 77);
	learn(&here);
	put(&here, FUNCTION + FUNCTION_NUMBER, 0);
	put(&here, NAME + NAME_HASH, 4321);
	assert_int_equal(sum_of(&here, CODE, 3), true_sum(&here, CODE));
}

static void a_function_without_a_number_is_looked_at_now_and_then(void **state)
{
	static struct here here;
	unsigned int i;

	(void)state;
	make(&here, 0);
	sum_of(&here, CODE, 2);
	sum_of(&here, CODE, 3);
	for (i = 0; i < PYTHON_LOOKS_APART - 1; i++)
		sum_of(&here, CODE, 2);
	put(&here, FUNCTION + FUNCTION_NUMBER, 5);
	sum_of(&here, CODE, 3);
	assert_int_equal(sum_of(&here, CODE, 1), true_sum(&here, CODE));
}

/*
 * The frame was entered before the function got other code: its number says nothing of the frame's.
 */
static void a_frame_of_older_code(void **state)
{
	static struct here here;
	unsigned int i;

	(void)state;
	make(&here, 77);
	for (i = 0; i < 2 * PYTHON_LOOKS_APART; i++) {
		uint32_t sum = sum_of(&here, OTHER, i % PYTHON_LOOKS_APART == 1 ? 3 : 2);

		assert_int_equal(sum, true_sum(&here, OTHER));
	}
}

/* 3.12: each code object has a number. */
static void a_code_object_with_a_number(void **state)
{
	static const struct python_data numbered = {
		.code_from = 56,
		.code_words = 0x7ef,
		.code_name = 8,
		.code_number = 5,
		.name_hash = NAME_HASH,
		.name_text = 48,
	};
	static struct here here;
	const struct python_frame frame = {.code = CODE};
	uint32_t sum = 0, first = 0;

	(void)state;
	make(&here, 0);
	put(&here, CODE + 56 + 4 * 8, 77ull << 32);
	assert_int_not_equal(python_identify(&here.walk, &numbered, &frame, &first),
			     PYTHON_UNCHECKED);
	assert_int_equal(python_check(&here.walk, &numbered, CODE, &sum), PYTHON_CHECKED_NOW);
	assert_int_equal(first, sum);
	here.reads = sum = 0;
	assert_int_not_equal(python_identify(&here.walk, &numbered, &frame, &sum),
			     PYTHON_UNCHECKED);
	assert_int_equal(sum, first);
	assert_int_equal(here.reads, 1);
	/* another one at its place */
	put(&here, CODE + 56 + 4 * 8, 78ull << 32);
	assert_int_not_equal(python_identify(&here.walk, &numbered, &frame, &sum),
			     PYTHON_UNCHECKED);
	assert_int_not_equal(sum, first);
	/* one without a number is known by the hash of its name */
	put(&here, CODE + 56 + 4 * 8, 0);
	assert_int_not_equal(python_identify(&here.walk, &numbered, &frame, &first),
			     PYTHON_UNCHECKED);
	put(&here, NAME + NAME_HASH, 99);
	assert_int_not_equal(python_identify(&here.walk, &numbered, &frame, &sum),
			     PYTHON_UNCHECKED);
	assert_int_not_equal(sum, first);
}

static void memory_that_cannot_be_read(void **state)
{
	static struct here here;
	struct python_frame frame = {.code = CODE, .function = BASE + 1u * sizeof(here.memory)};
	uint32_t sum;
	int i;

	(void)state;
	make(&here, 77);
	for (i = 0; i < 4; i++) {
		sum = 0;
		assert_int_not_equal(python_identify(&here.walk, &data, &frame, &sum),
				     PYTHON_UNCHECKED);
		assert_int_equal(sum, true_sum(&here, CODE));
	}
	frame = (struct python_frame){.code = BASE + sizeof(here.memory), .function = FUNCTION};
	for (i = 0; i < 4; i++)
		assert_int_equal(python_identify(&here.walk, &data, &frame, &sum),
				 PYTHON_UNCHECKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_stands_for_the_code),
		cmocka_unit_test(another_number_is_other_code),
		cmocka_unit_test(a_function_without_a_number_is_looked_at_now_and_then),
		cmocka_unit_test(a_frame_of_older_code),
		cmocka_unit_test(a_code_object_with_a_number),
		cmocka_unit_test(memory_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
