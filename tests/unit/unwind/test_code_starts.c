// SPDX-License-Identifier: Apache-2.0
/* Where functions begin in code that nothing describes. */
#include "../prelude.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/code_starts.h"

#define AT 0x1000

/* The starts that are found, as distances from AT, which wanted (ended by -1) has. */
static void check(const uint8_t *code, size_t size, bool is_aligned, const uint64_t *known,
		  size_t known_count, const int *wanted)
{
	const struct code_starts_of of = {
		.code = code,
		.size = size,
		.address = AT,
		.is_aligned = is_aligned,
		.is_start = true,
		.is_end = true,
		.known = known,
		.known_count = known_count,
	};
	code_functions found = {0};
	size_t i;

	assert_int_equal(code_starts_add(&of, &found), 0);
	for (i = 0; wanted[i] >= 0; i++) {
		assert_true(i < found.count);
		assert_int_equal(found.at[i].start, AT + wanted[i]);
		if (i)
			assert_int_equal(found.at[i - 1].start + found.at[i - 1].size,
					 found.at[i].start);
	}
	assert_int_equal(found.count, i);
	assert_int_equal(found.at[i - 1].start + found.at[i - 1].size, AT + size);
	vec_free(&found);
}

#define CHECK(code, is_aligned, known, known_count, ...) \
	check(code, sizeof(code), is_aligned, known, known_count, (const int[]){__VA_ARGS__, -1})

static void behind_a_return(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc0, 0xc3,	      /* 0: xor %eax,%eax; ret */
		0x85, 0xff, 0x74, 0x01, 0xc3, /* 3: test; je 8; ret: more follows */
		0xff, 0xc7, 0xeb, 0xf7,	      /* 8: inc; jmp 3 */
		0x89, 0xf8, 0xc3,	      /* 12: mov; ret */
		0xcc, 0x90, 0x90,	      /* padding */
		0xf7, 0xd8, 0xc3,	      /* 18: neg; ret */
	};

	(void)state;
	CHECK(code, false, NULL, 0, 0, 3, 12, 18);
	/*
	 * where functions are aligned, what stands behind a return elsewhere is a part of the one
	 * before
	 */
	CHECK(code, true, NULL, 0, 0);
}

/* What ends a signal handler does not return; other system calls do. */
static void behind_a_signal_return(void **state)
{
	static const uint8_t code[] = {
		0x48, 0xc7, 0xc0, 15, 0, 0,    0,    0x0f, 0x05, /* 0: mov $15,%rax; syscall */
		0x90, 0x90,					 /* padding */
		0xb8, 15,   0,	  0,  0, 0x0f, 0x05,		 /* 11: mov $15,%eax; syscall */
		0xb8, 39,   0,	  0,  0, 0x0f, 0x05, 0x89, 0xf8, 0xc3, /* 18: getpid(), and more */
	};

	(void)state;
	CHECK(code, false, NULL, 0, 0, 11, 18);
}

static void joined_by_jumps_back(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc0, 0xff, 0xc0, 0xc3, /* 0: xor; 2: inc; ret */
		0xff, 0xc8, 0xeb, 0xf9,	      /* 5: dec; jmp 2: into the middle */
		0x89, 0xf8, 0xeb, 0xf3,	      /* 9: mov; jmp 0: calls it last */
	};

	(void)state;
	CHECK(code, false, NULL, 0, 0, 9);
}

static void calls_and_symbols(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0x04, 0,	  0,	0, /* 0: call 9 */
		0xff, 0xc0, 0xff, 0xc0,	   /* 5: inc; inc, on into the next */
		0xff, 0xc8, 0xff, 0xc8,	   /* 9: dec; 11: dec */
		0xc3,			   /* 13: ret */
		0xe8, 0,    0,	  0,	0, /* 14: asks where it is */
		0x58, 0xc3,		   /* 19: pop; ret */
	};
	static const uint64_t known[] = {5, AT + 11};

	(void)state;
	CHECK(code, false, NULL, 0, 0, 9, 14);
	CHECK(code, false, known, 2, 0, 9, 11, 14);
}

/* Bytes that are no code, and jumps to anywhere, end and stay within. */
static void hostile(void **state)
{
	uint8_t code[4096];
	uint32_t random = 1;

	(void)state;
	for (unsigned int round = 0; round < 200; round++) {
		struct code_starts_of of = {code,      sizeof(code), AT,   round & 1,
					    round & 2, round & 4,    NULL, 0};
		code_functions found = {0};

		for (size_t i = 0; i < sizeof(code); i++) {
			random = random * 1103515245 + 12345;
			code[i] = (uint8_t)(random >> 16) % (round % 3 ? 256 : 8) +
				  (round % 3 ? 0 : 0xe8);
		}
		assert_int_equal(code_starts_add(&of, &found), 0);
		for (size_t i = 0; i < found.count; i++) {
			assert_true(found.at[i].start >= AT && found.at[i].size);
			assert_true(found.at[i].start + found.at[i].size <= AT + sizeof(code));
			if (i)
				assert_true(found.at[i].start > found.at[i - 1].start);
		}
		vec_free(&found);
	}
}

static void lisp(void **state)
{
	uint8_t code[100] = {0};

	(void)state;
	assert_int_equal(code_starts_of_lisp(code, sizeof(code), 1064), 0);
	memcpy(code + 36 - 1, "\x8f\x45\x08", 3); /* not on a border */
	assert_int_equal(code_starts_of_lisp(code, sizeof(code), 1064), 0);
	memcpy(code + 12, "\x8f\x45\x08", 3); /* of 976, a border */
	assert_int_equal(code_starts_of_lisp(code, sizeof(code), 1064), 88);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_a_return),
		cmocka_unit_test(behind_a_signal_return),
		cmocka_unit_test(joined_by_jumps_back),
		cmocka_unit_test(calls_and_symbols),
		cmocka_unit_test(hostile),
		cmocka_unit_test(lisp),
	};

	return cmocka_run_group_tests_name("unwind-code-starts", tests, NULL, NULL);
}
