// SPDX-License-Identifier: Apache-2.0
/* What is usual for an endpoint: its p99, once enough is known, and in which old requests fade. */
#include "../prelude.h"

#include <stdio.h>

#include "sources/requests/slow.h"

#define MS 1000000ull

static uint64_t add_many(struct slow_requests *requests, const char *endpoint, uint64_t least,
			 unsigned int count)
{
	uint64_t p99 = 0;

	/* from least to twice as much, evenly */
	for (unsigned int i = 0; i < count; i++)
		p99 = slow_requests_add(requests, "server", endpoint,
					least + least * (i % 100) / 100);
	return p99;
}

static void test_usual(void **state)
{
	struct slow_requests requests = {0};
	uint64_t p99;

	(void)state;
	assert_int_equal(add_many(&requests, "GET /", 10 * MS, SLOW_REQUESTS_LEAST), 0);
	p99 = add_many(&requests, "GET /", 10 * MS, 1);
	assert_in_range(p99, 198 * MS / 10, 25 * MS);
	/* another endpoint, and another program, know nothing yet */
	assert_int_equal(slow_requests_add(&requests, "server", "GET /slow", 900 * MS), 0);
	assert_int_equal(slow_requests_add(&requests, "other", "GET /", 900 * MS), 0);
	slow_requests_free(&requests);
}

static void test_old_ones_fade(void **state)
{
	struct slow_requests requests = {0};

	(void)state;
	add_many(&requests, "GET /", 100 * MS, 2 * SLOW_REQUESTS_MOST);
	assert_in_range(add_many(&requests, "GET /", MS, 1), 198 * MS, 250 * MS);
	assert_in_range(add_many(&requests, "GET /", MS, 8 * SLOW_REQUESTS_MOST), 198 * MS / 100,
			25 * MS / 10);
	slow_requests_free(&requests);
}

static void test_bounds(void **state)
{
	struct slow_requests requests = {0};
	char endpoint[32];

	(void)state;
	for (unsigned int i = 0; i < SLOW_REQUESTS_LEAST; i++)
		assert_int_equal(slow_requests_add(&requests, "p", "GET /0", 0), 0);
	for (unsigned int i = 0; i < SLOW_REQUESTS_LEAST; i++)
		assert_int_equal(slow_requests_add(&requests, "p", "GET /x", UINT64_MAX), 0);
	assert_in_range(slow_requests_add(&requests, "p", "GET /0", 0), 0, 8);
	assert_int_equal(slow_requests_add(&requests, "p", "GET /x", 1), UINT64_MAX);
	for (unsigned int i = 0; i < 2 * SLOW_REQUESTS_ENDPOINTS; i++) {
		snprintf(endpoint, sizeof(endpoint), "GET /%u", i);
		slow_requests_add(&requests, "p", endpoint, i);
	}
	assert_int_equal(requests.count, SLOW_REQUESTS_ENDPOINTS);
	assert_int_equal(add_many(&requests, "GET /no-room", 1, 2 * SLOW_REQUESTS_LEAST), 0);
	slow_requests_free(&requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_old_ones_fade),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
