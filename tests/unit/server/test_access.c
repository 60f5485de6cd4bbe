// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/access.h"

#include <cmocka.h>

#define TOKEN "0123456789abcdef"

static int check(const char *token, const char *address, struct access_request request)
{
	struct fail why = {0};
	int err = access_check(token, address, &request, &why);

	assert_int_equal(why.err, err);
	return err;
}

static void test_loopback(void **state)
{
	static const char *const good[] = {"localhost",	 "localhost:7171", "LocalHost:1",
					   "127.0.0.1",	 "127.0.0.1:80",   "[::1]",
					   "[::1]:7171", "127.0.0.2:5",	   "localhost:"};
	static const char *const bad[] = {"",
					  "evil.example",
					  "localhost.evil.example",
					  "127.0.0.1.evil.example",
					  "127.0.0.1:80:80",
					  "localhost:x",
					  "::1",
					  "xlocalhost",
					  "127.0.0.3",
					  "[::1"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(check(NULL, "127.0.0.2", (struct access_request){.host = good[i]}),
				 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(check(NULL, "127.0.0.2", (struct access_request){.host = bad[i]}),
				 -EPERM);
	assert_int_equal(check(NULL, "::1", (struct access_request){.host = NULL}), -EPERM);
	/* who knows the token may come through a proxy */
	assert_int_equal(check(TOKEN, "127.0.0.1",
			       (struct access_request){.host = "shop.example",
						       .authorization = "Bearer " TOKEN}),
			 0);
}

static void test_origins(void **state)
{
	struct access_request own = {.host = "localhost:7171", .is_post = true};
	struct access_request other = own;

	(void)state;
	assert_int_equal(check(NULL, "127.0.0.1", own), 0);
	own.origin = "http://localhost:7171";
	own.fetch_site = "same-origin";
	assert_int_equal(check(NULL, "127.0.0.1", own), 0);
	other.origin = "http://127.0.0.1:7171";
	assert_int_equal(check(NULL, "127.0.0.1", other), -EPERM);
	other.origin = "null";
	assert_int_equal(check(NULL, "127.0.0.1", other), -EPERM);
	other.origin = NULL;
	other.fetch_site = "cross-site";
	assert_int_equal(check(NULL, "127.0.0.1", other), -EPERM);
	/* certificates come by themselves, as a cookie would */
	assert_int_equal(check(NULL, NULL, other), -EPERM);
	other.is_post = false;
	assert_int_equal(check(NULL, "127.0.0.1", other), 0);
}

static void test_token(void **state)
{
	static const char *const bad[] = {
		"",
		"Bearer",
		"Bearer ",
		"Bearer 0123456789abcde",
		"Bearer 0123456789abcdef0",
		"Bearer 0123456789abcdeF",
		"Bearer " TOKEN TOKEN,
		TOKEN,
		"Basic ",
		"Basic OjAxMjM0NTY3ODlhYmNkZQ==" /* one less */,
		"Basic MDEyMzQ1Njc4OWFiY2RlZg==" /* no user */,
		"Basic ====",
		"Bearer  " TOKEN,
	};

	(void)state;
	assert_int_equal(check(TOKEN, NULL, (struct access_request){.host = "x"}), -EACCES);
	assert_int_equal(check(TOKEN, NULL, (struct access_request){.is_open = true}), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			check(TOKEN, NULL, (struct access_request){.authorization = bad[i]}),
			-EACCES);
	assert_int_equal(
		check(TOKEN, NULL, (struct access_request){.authorization = "bearer " TOKEN}), 0);
	/* "user:" and the token */
	assert_int_equal(check(TOKEN, NULL,
			       (struct access_request){
				       .authorization = "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVm"}),
			 0);
}

static void test_taking_a_token(void **state)
{
	char path[] = "/tmp/stackcam-token-XXXXXX", *token = NULL;
	int fd = mkstemp(path);
	char longest[ACCESS_TOKEN_MAX + 2];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, TOKEN " \r\nmore\n", strlen(TOKEN) + 8), strlen(TOKEN) + 8);
	close(fd);
	assert_int_equal(access_read_token(path, &token, NULL), 0);
	assert_string_equal(token, TOKEN);
	free(token);
	unlink(path);
	assert_int_equal(access_read_token(path, &token, NULL), -ENOENT);
	assert_int_equal(access_take_token("short", &token, NULL), -EINVAL);
	assert_int_equal(access_take_token("with a blank in it, long", &token, NULL), -EINVAL);
	assert_int_equal(access_take_token("0123456789abcde\xc3\xa4", &token, NULL), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(access_take_token(longest, &token, NULL), -EINVAL);
	assert_int_equal(access_take_token(longest + 1, &token, NULL), 0);
	free(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_taking_a_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
