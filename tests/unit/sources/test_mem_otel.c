// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "bpf/memory/heap_abi.h"
#include "sources/memory/otel.h"

static uint64_t one(uint64_t number, uint64_t flags, int64_t distance)
{
	return number | flags | (uint64_t)(distance + MEM_HEAP_USDT_FAR) << MEM_HEAP_USDT_DISTANCE;
}

static void test_arguments(void **state)
{
	uint64_t cookie;

	(void)state;
	assert_true(mem_otel_arguments("8@%rdi", 1, &cookie));
	assert_int_equal(cookie, one(7, 0, 0));
	assert_true(mem_otel_arguments("8@%rdi -4@%esi 8@-16(%rbp)", 3, &cookie));
	assert_int_equal(cookie, one(7, 0, 0) | one(6, MEM_HEAP_USDT_SHORT, 0) << 20 |
					 one(5, MEM_HEAP_USDT_MEMORY, -16) << 40);
	assert_true(mem_otel_arguments("-8@(%r15) 8@8191(%rsp) 4@-8192(%rax)", 3, &cookie));
	assert_int_equal(cookie, one(15, MEM_HEAP_USDT_MEMORY, 0) |
					 one(4, MEM_HEAP_USDT_MEMORY, 8191) << 20 |
					 one(0, MEM_HEAP_USDT_MEMORY | MEM_HEAP_USDT_SHORT, -8192)
						 << 40);
	/* what is behind is not asked for */
	assert_true(mem_otel_arguments("8@%r8 8@%r9", 1, &cookie));
}

static void test_what_cannot_be_read(void **state)
{
	static const char *const texts[] = {"",
					    "8",
					    "8@",
					    "8@%",
					    "8@%xmm0",
					    "8@%rdi)",
					    "8@%rdix",
					    "2@%di",
					    "8@$12",
					    "8@8192(%rsp)",
					    "8@-8193(%rsp)",
					    "8@4(%rax,%rbx,8)",
					    "8@name(%rip)",
					    "8@4(%rax",
					    "8@4%rax",
					    "99999999999999999999@%rdi"};
	uint64_t cookie;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(mem_otel_arguments(texts[i], 1, &cookie));
	assert_false(mem_otel_arguments("8@%rdi 8@%rsi", 3, &cookie));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_what_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
