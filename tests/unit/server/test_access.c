// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/access.h"

#define TOKEN "0123456789abcdef"
/* of "the-token-of-a-team" */
#define DIGEST                             \
	"99d9ddda91733674e2801fd18ef30c26" \
	"caa5c2f7547ddba0f48f4f5f9b969db3"

static struct access_grant granted;

/* tokens: as in a file, or null for none. Without them every client may read. */
static int check(const char *tokens, const char *address, struct access_request request)
{
	struct tokens parsed = {0};
	struct access_rules rules = {.tokens = &parsed, .address = address, .read_open = !tokens};
	struct fail why = {0};
	int err;

	if (tokens)
		assert_int_equal(tokens_parse(tokens, "tokens", &parsed, &why), 0);
	err = access_check(&rules, &request, &granted, &why);
	assert_int_equal(why.err, err);
	tokens_free(&parsed);
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
	/* clients that know the token may come through a proxy */
	assert_int_equal(check(TOKEN, "127.0.0.1",
			       (struct access_request){.host = "shop.example",
						       .authorization = "Bearer " TOKEN}),
			 0);
}

static void test_origins(void **state)
{
	struct access_request own = {.host = "localhost:7171", .is_post = true, .is_push = true};
	struct access_request other = own;

	(void)state;
	/* it is asked for a token, and not refused for where it came from */
	assert_int_equal(check(NULL, "127.0.0.1", own), -EACCES);
	own.origin = "http://localhost:7171";
	own.fetch_site = "same-origin";
	assert_int_equal(check(NULL, "127.0.0.1", own), -EACCES);
	other.origin = "http://127.0.0.1:7171";
	assert_int_equal(check(NULL, "127.0.0.1", other), -EPERM);
	other.origin = "null";
	assert_int_equal(check(NULL, "127.0.0.1", other), -EPERM);
	other.origin = NULL;
	other.fetch_site = "cross-site";
	assert_int_equal(check(NULL, "127.0.0.1", other), -EPERM);
	/* certificates come by themselves, as a cookie would */
	assert_int_equal(check(NULL, NULL, other), -EPERM);
	other.is_post = other.is_push = false;
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

/* To read and to send are two things, and a token that is bound says so. */
static void test_what_a_token_allows(void **state)
{
	static const char tokens[] = TOKEN " read\nwrite-write-write write\n"
					   "bound-bound-bound write host=web1\n";
	struct access_request reads = {.authorization = "Bearer " TOKEN};
	struct access_request sends = {.authorization = "Bearer write-write-write"};
	struct access_request bound = {.authorization = "Bearer bound-bound-bound"};
	uint64_t sender;

	(void)state;
	assert_int_equal(check(tokens, NULL, reads), 0);
	assert_int_equal(check(tokens, NULL, sends), -EPERM);
	assert_int_equal(check(tokens, NULL, bound), -EPERM);
	reads.is_push = sends.is_push = bound.is_push = true;
	assert_int_equal(check(tokens, NULL, reads), -EPERM);
	assert_int_equal(check(tokens, NULL, sends), 0);
	sender = granted.sender;
	assert_true(sender && !*granted.host);
	assert_int_equal(check(tokens, NULL, bound), 0);
	assert_true(granted.sender && granted.sender != sender);
	assert_string_equal(granted.host, "web1");
	/* where every client may read, none may send for that */
	assert_int_equal(check(NULL, "127.0.0.1",
			       (struct access_request){.host = "localhost", .is_push = true}),
			 -EACCES);
	assert_int_equal(check(NULL, "127.0.0.1", (struct access_request){.host = "localhost"}), 0);
}

/*
 * Of teams: some services, with what cannot be limited to them refused; by its digest; to record.
 */
static void test_teams(void **state)
{
	static const char tokens[] =
		"sha256:" DIGEST " read services=shop-*,cart name=shop questions=7\n" TOKEN
		" record\nupload-upload-upload upload\n";
	struct access_request team = {.authorization = "Bearer the-token-of-a-team"};
	struct access_request other = {.authorization = "Bearer the-token-of-a-tean"};
	struct access_request records = {.authorization = "Bearer " TOKEN, .is_push = true};
	struct access_request sends = {.authorization = "Bearer upload-upload-upload",
				       .is_push = true};

	(void)state;
	assert_int_equal(check(tokens, NULL, team), 0);
	assert_string_equal(granted.services, "shop-*,cart");
	assert_string_equal(granted.name, "shop");
	assert_int_equal(granted.questions, 7);
	assert_int_equal(check(tokens, NULL, other), -EACCES);
	team.is_of_all = true;
	assert_int_equal(check(tokens, NULL, team), -EPERM);
	assert_int_equal(check(tokens, NULL, records), -EPERM);
	assert_int_equal(check(tokens, NULL, sends), 0);
	records.is_record = sends.is_record = true;
	assert_int_equal(check(tokens, NULL, records), 0);
	assert_int_equal(check(tokens, NULL, sends), -EPERM);
	/* one that shows all may ask what cannot be limited */
	assert_int_equal(
		check(TOKEN, NULL,
		      (struct access_request){.authorization = "Bearer " TOKEN, .is_of_all = true}),
		0);
	assert_null(access_services(&granted));
}

/*
 * A server that takes nothing says so to every client, and asks none for a token that would not
 * help.
 */
static void test_takes_nothing(void **state)
{
	static const char *const shown[] = {NULL, "Bearer " TOKEN, "Bearer something-else"};
	struct tokens tokens = {0};
	struct access_rules rules = {.tokens = &tokens, .is_read_only = true, .write_open = true};
	struct access_request request = {.is_post = true, .is_push = true};
	struct fail why = {0};

	(void)state;
	assert_int_equal(tokens_parse(TOKEN " write\n", "tokens", &tokens, &why), 0);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		request.authorization = shown[i];
		assert_int_equal(access_check(&rules, &request, &granted, &why), -EPERM);
		assert_string_equal(why.what, "this server takes no films");
	}
	tokens_free(&tokens);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),      cmocka_unit_test(test_origins),
		cmocka_unit_test(test_token),	      cmocka_unit_test(test_what_a_token_allows),
		cmocka_unit_test(test_takes_nothing), cmocka_unit_test(test_teams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
