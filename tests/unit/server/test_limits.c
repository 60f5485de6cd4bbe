// SPDX-License-Identifier: Apache-2.0
/* What senders may send, and what is said of those who are refused. */
#include "../prelude.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/logins.h"
#include "server/quota.h"

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)

static void test_a_sender_waits_for_its_hour(void **state)
{
	const struct quota_limits limits = {.bytes = 3600, .films = 10};
	struct quota *quota = quota_new(&limits);
	uint64_t now = 5 * HOUR, wait;

	(void)state;
	assert_int_equal(quota_wait(quota, 1, now), 0);
	/* one that is larger than an hour's worth is taken, and paid for */
	quota_charge(quota, 1, 7200, now);
	wait = quota_wait(quota, 1, now);
	assert_true(wait > HOUR - 2 * SECOND && wait < HOUR + 2 * SECOND);
	/* others do not wait for it */
	assert_int_equal(quota_wait(quota, 2, now), 0);
	assert_true(quota_wait(quota, 1, now + wait / 2) > 0);
	assert_int_equal(quota_wait(quota, 1, now + wait + SECOND), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(quota_wait(quota, 2, now), 0);
		quota_charge(quota, 2, 1, now);
	}
	wait = quota_wait(quota, 2, now);
	assert_true(wait > 359 * SECOND && wait < 362 * SECOND);
	/* a client that was quiet for a day has an hour's worth, not a day's */
	now += 24 * HOUR;
	quota_charge(quota, 1, 3600, now);
	assert_true(quota_wait(quota, 1, now) > 0);
	quota_configure(quota, &(struct quota_limits){0});
	assert_int_equal(quota_wait(quota, 1, now), 0);
	quota_free(quota);
}

static void test_questions_of_a_minute(void **state)
{
	const struct quota_limits limits = {0};
	struct quota *quota = quota_new(&limits);
	uint64_t now = 5 * HOUR, wait;

	(void)state;
	for (int i = 0; i < 6; i++)
		assert_int_equal(quota_ask(quota, 1, 6, now), 0);
	wait = quota_ask(quota, 1, 6, now);
	assert_true(wait > 9 * SECOND && wait < 11 * SECOND);
	/* one that is refused costs nothing, and others have their own */
	assert_int_equal(quota_ask(quota, 2, 6, now), 0);
	assert_true(quota_ask(quota, 1, 6, now + wait / 2) > 0);
	assert_int_equal(quota_ask(quota, 1, 6, now + wait + 1), 0);
	/* a client that was quiet for a day has a minute's worth */
	now += 24 * HOUR;
	for (int i = 0; i < 6; i++)
		assert_int_equal(quota_ask(quota, 1, 6, now), 0);
	assert_true(quota_ask(quota, 1, 6, now) > 0);
	quota_free(quota);
}

static void test_lists_of_addresses(void **state)
{
	static const char *const bad[] = {
		"", "a", "localhost", "127.0.0.1,", ",::1", "127.0.0.1:80", "::1,::1,::1,::1"};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct peer peers[3];
	size_t count;

	(void)state;
	assert_true(peers_parse("127.0.0.1,2001:db8::1", peers, 3, &count));
	assert_int_equal(count, 2);
	assert_true(peer_same(peers[0], peer_of((struct sockaddr *)&v4)));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(peers_parse(bad[i], peers, 3, &count));
}

static struct peer peer(const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return peer_of((const struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return peer_of((const struct sockaddr *)&v6);
}

static bool are_one(const char *a, const char *b)
{
	return peer_same(peer_network(peer(a)), peer_network(peer(b)));
}

static void test_whose_connections_are_counted_together(void **state)
{
	char text[INET6_ADDRSTRLEN];

	(void)state;
	assert_string_equal(peer_text(peer("192.0.2.7"), text), "192.0.2.7");
	assert_string_equal(peer_text(peer("2001:db8::7"), text), "2001:db8::7");
	assert_string_equal(peer_text(peer("::ffff:192.0.2.7"), text), "192.0.2.7");
	assert_true(are_one("127.0.0.1", "127.9.9.9") && are_one("127.0.0.1", "::1"));
	assert_true(are_one("2001:db8::7", "2001:db8::9:7"));
	assert_false(are_one("2001:db8:0:1::7", "2001:db8:0:2::7"));
	assert_false(are_one("192.0.2.7", "192.0.2.8"));
}

static void test_refused_ones_do_not_fill_the_log(void **state)
{
	struct logins *logins = logins_new();
	uint64_t now = HOUR, count = 0;
	unsigned int lines = 0;
	char text[32];

	(void)state;
	for (int i = 0; i < 1000; i++)
		lines += logins_failed(logins, peer("192.0.2.7"), now + (uint64_t)i, &count);
	assert_int_equal(lines, 1);
	assert_int_equal(count, 1);
	now += 61 * SECOND;
	assert_true(logins_failed(logins, peer("192.0.2.7"), now, &count));
	assert_int_equal(count, 1000);
	/* from everywhere */
	lines = 0;
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u", i >> 8, i & 255);
		lines += logins_failed(logins, peer(text), now, &count);
	}
	assert_true(lines > 5 && lines < 30);
	logins_free(logins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sender_waits_for_its_hour),
		cmocka_unit_test(test_questions_of_a_minute),
		cmocka_unit_test(test_lists_of_addresses),
		cmocka_unit_test(test_whose_connections_are_counted_together),
		cmocka_unit_test(test_refused_ones_do_not_fill_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
