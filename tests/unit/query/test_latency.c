// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "base/map.h"
#include "query/latency.h"

/* All that is added lies in one place, so each quantile is that value but for the error. */
static void test_error(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t value = i < 5000 ? i : hash_u64(i) >> hash_u64(~i) % 64;
		struct latency l = {0};
		uint64_t known;

		assert_true(latency_add(&l, value, 3));
		known = latency_quantile(&l, 500);
		assert_true((known > value ? known - value : value - known) <= value / 63);
		assert_int_equal(latency_quantile(&l, 1), known);
		assert_int_equal(latency_quantile(&l, 1000), known);
		latency_free(&l);
	}
}

static void test_quantiles(void **state)
{
	struct latency l = {0}, other = {0};
	uint64_t p50, p99;

	(void)state;
	assert_int_equal(latency_quantile(&l, 500), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_true(latency_add(i % 2 ? &l : &other, i * 1000, 1));
	assert_true(latency_merge(&l, &other));
	assert_int_equal(l.count, 1000);
	p50 = latency_quantile(&l, 500);
	p99 = latency_quantile(&l, 990);
	assert_in_range(p50, 500000 * 32 / 33, 500000 * 33 / 32);
	assert_in_range(p99, 990000 * 32 / 33, 990000 * 33 / 32);
	/* 512 * 1000 to 1000 * 1000 … */
	assert_int_equal(latency_power(&l, 19), 1000 - 524);
	latency_free(&l);
	latency_free(&other);
}

static void test_powers(void **state)
{
	struct latency l = {0};

	(void)state;
	for (uint64_t i = 0; i < 16; i++)
		assert_true(latency_add(&l, i, 1));
	assert_true(latency_add(&l, UINT64_MAX, 7));
	assert_int_equal(latency_power(&l, 0), 2);
	assert_int_equal(latency_power(&l, 1), 2);
	assert_int_equal(latency_power(&l, 2), 4);
	assert_int_equal(latency_power(&l, 3), 8);
	assert_int_equal(latency_power(&l, 4), 0);
	assert_int_equal(latency_power(&l, 63), 7);
	latency_free(&l);
}

/* Of a power of two all values are as likely. */
static void test_coarse(void **state)
{
	struct latency l = {.is_coarse = true};

	(void)state;
	assert_true(latency_add(&l, 1024, 100));
	assert_in_range(latency_quantile(&l, 500), 1024 + 500, 1024 + 520);
	assert_in_range(latency_quantile(&l, 990), 1024 + 1000, 2047);
	assert_in_range(latency_quantile(&l, 1), 1024, 1040);
	latency_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_powers),
		cmocka_unit_test(test_coarse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
