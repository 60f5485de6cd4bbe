// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>

#include "protocol/protocols.h"
#include "streams.h"

static struct stream http(void)
{
	return (struct stream){.protocol = &protocol_http1};
}

/* Compares what was reported, and forgets it. */
static void tells(struct stream *s, const char *text)
{
	buf_put_u8(&s->told, 0);
	assert_false(s->told.failed);
	assert_string_equal((const char *)s->told.at, text);
	s->told.count = 0;
}

#define GET "GET /a HTTP/1.1\r\n\r\n"			   /* 19 bytes */
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" /* 38 */

static void test_one_after_the_other(void **state)
{
	struct stream s = http();

	(void)state;
	for (int i = 0; i < 3; i++) {
		stream_text(&s, SIDE_REQUESTS, GET);
		tells(&s, "request GET /a; sent 19; ");
		stream_text(&s, SIDE_ANSWERS, OK2 "ab");
		tells(&s, "answer 200; answered 38; answered 2; done; ");
	}
	assert_int_equal(s.losses.strange + s.losses.long_heads + s.losses.unseen, 0);
	stream_free(&s);
}

/* Cut at any byte, the sum is the same. */
static void test_cut_anywhere(void **state)
{
	static const char asked[] =
		"POST /b?c HTTP/1.1\r\nContent-Length: 3\r\nX-Request-Id: i\r\n\r\nxyz";
	static const char answer[] = "HTTP/1.1 404 No\r\nTransfer-Encoding: "
				     "chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: x\r\n\r\n";

	(void)state;
	for (size_t i = 1; i < sizeof(asked) - 1; i++)
		for (size_t k = 1; k < sizeof(answer) - 1; k++) {
			struct stream s = http();
			uint64_t sent = 0, answered = 0;
			char *at;

			stream_give(&s, SIDE_REQUESTS, asked, (uint32_t)i, (uint32_t)i, NULL);
			stream_text(&s, SIDE_REQUESTS, asked + i);
			stream_give(&s, SIDE_ANSWERS, answer, (uint32_t)k, (uint32_t)k, NULL);
			stream_text(&s, SIDE_ANSWERS, answer + k);
			buf_put_u8(&s.told, 0);
			at = (char *)s.told.at;
			assert_int_equal(strncmp(at, "request POST /b id i; ", 22), 0);
			for (char *word = strstr(at, "sent "); word;
			     word = strstr(word + 1, "sent "))
				sent += strtoull(word + 5, NULL, 10);
			for (char *word = strstr(at, "answered "); word;
			     word = strstr(word + 1, "answered "))
				answered += strtoull(word + 9, NULL, 10);
			assert_int_equal(sent, sizeof(asked) - 1);
			assert_int_equal(answered, sizeof(answer) - 1);
			assert_non_null(strstr(at, "answer 404; "));
			assert_string_equal(at + strlen(at) - 6, "done; ");
			assert_int_equal(s.losses.strange + s.losses.unseen, 0);
			stream_free(&s);
		}
}

static void test_pipelines(void **state)
{
	struct stream s = http();

	(void)state;
	stream_text(&s, SIDE_REQUESTS, GET "HEAD /h HTTP/1.1\r\n\r\n" GET);
	tells(&s, "request GET /a; sent 19; request HEAD /h; sent 20; request GET /a; sent 19; ");
	/* what answers HEAD has a length, and no body */
	stream_text(&s, SIDE_ANSWERS, OK2 "ab" OK2 OK2 "cd");
	tells(&s, "answer 200; answered 38; answered 2; done; answer 200; done; answered 38; "
		  "answer 200; answered 38; answered 2; done; ");
	stream_free(&s);
}

/* Bodies are counted, not read: what looks like a head in one is none. */
static void test_bodies_need_not_be_there(void **state)
{
	struct stream s = http();

	(void)state;
	stream_text(&s, SIDE_REQUESTS, GET);
	s.told.count = 0;
	stream_give(&s, SIDE_ANSWERS, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", 43, 1043,
		    "abcdefgh");
	tells(&s, "answer 200; answered 43; answered 1000; ");
	stream_give(&s, SIDE_ANSWERS, OK2, 38, 98000, "abcdefgh");
	tells(&s, "answered 98000; ");
	stream_give(&s, SIDE_ANSWERS, "", 0, 1000, NULL);
	tells(&s, "answered 1000; done; ");
	stream_free(&s);
}

/* Chunks that were not copied end where a piece ends with the last of them. */
static void test_chunks_need_not_be_there(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n";
	struct stream s = http();

	(void)state;
	stream_text(&s, SIDE_REQUESTS, GET);
	s.told.count = 0;
	stream_give(&s, SIDE_ANSWERS, head, sizeof(head) - 1, 2000, "abcdefgh");
	assert_int_equal(s.losses.unseen, 0);
	s.told.count = 0;
	stream_give(&s, SIDE_ANSWERS, "", 0, 3000, "abc\r\nabc");
	tells(&s, "answered 3000; ");
	stream_give(&s, SIDE_ANSWERS, "", 0, 500, "b\r\n0\r\n\r\n");
	tells(&s, "answered 500; done; ");
	stream_text(&s, SIDE_REQUESTS, GET);
	stream_text(&s, SIDE_ANSWERS, OK2 "ab");
	tells(&s, "request GET /a; sent 19; answer 200; answered 38; answered 2; done; ");
	stream_free(&s);
}

static void test_what_has_no_length_ends_with_the_connection_or_the_next(void **state)
{
	struct stream s = http();

	(void)state;
	stream_text(&s, SIDE_REQUESTS, GET);
	stream_text(&s, SIDE_ANSWERS, "HTTP/1.0 200 OK\r\n\r\nabc");
	tells(&s, "request GET /a; sent 19; answer 200; answered 19; answered 3; ");
	stream_ended(&s);
	tells(&s, "done? ");
	stream_ended(&s);
	tells(&s, "");
	stream_free(&s);
}

static void test_provisional_answers_are_none(void **state)
{
	struct stream s = http();

	(void)state;
	stream_text(&s, SIDE_REQUESTS, GET);
	s.told.count = 0;
	stream_text(&s, SIDE_ANSWERS, "HTTP/1.1 100 Continue\r\n\r\n" OK2 "ab");
	assert_false(has_told(&s, "answer 100"));
	assert_true(has_told(&s, "answer 200; "));
	s.told.count = 0;
	/* what is not HTTP any more is not read as such */
	stream_text(&s, SIDE_REQUESTS, GET);
	stream_text(&s, SIDE_ANSWERS, "HTTP/1.1 101 Switching\r\n\r\n");
	s.told.count = 0;
	stream_text(&s, SIDE_REQUESTS, GET);
	tells(&s, "");
	stream_free(&s);
}

static void test_nonsense(void **state)
{
	static const char *const heads[] = {
		"GET  HTTP/1.1\r\n\r\n",
		"GET /\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n",
		"GET / HTTP/1.1x\r\n\r\n",
		"XXXXXXXXXXXXXXXX",
		"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct stream s = http();

		stream_text(&s, SIDE_REQUESTS, heads[i]);
		tells(&s, "");
		assert_int_equal(s.losses.strange, 1);
		/* the next one is read */
		stream_text(&s, SIDE_REQUESTS, GET);
		tells(&s, "request GET /a; sent 19; ");
		stream_free(&s);
	}
}

static void test_heads_that_are_too_long(void **state)
{
	static char head[5000] = "GET /long/1 HTTP/1.1\r\nX-Request-Id: me\r\nX: ";
	struct stream s = http();

	(void)state;
	memset(head + strlen(head), 'x', sizeof(head) - strlen(head));
	stream_give(&s, SIDE_REQUESTS, head, 4096, 5000, "xxxxxxxx");
	assert_int_equal(strncmp((char *)s.told.at, "request GET /long/* id me; ", 26), 0);
	assert_int_equal(s.losses.long_heads, 1);
	s.told.count = 0;
	stream_text(&s, SIDE_ANSWERS, OK2 "ab");
	tells(&s, "answer 200; answered 38; answered 2; done; ");
	stream_free(&s);
}

/* The one that says most is taken, in any order. */
static void test_ids(void **state)
{
	static const char *const cases[][2] = {
		{"x-request-id: r\r\nTraceParent: 00-0af7651916cd43dd8448eb211c80319c-b7ad-01",
		 "0af7651916cd43dd8448eb211c80319c"},
		{"traceparent: 00-aa-b-01\r\nX-Request-ID: r", "aa"},
		{"b3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1",
		 "80f198ee56343ba864fe8b2a57d3eff7"},
		{"X-B3-TraceId:  5 ", "5"},
		{"uber-trace-id: 1a:2b:0:1", "1a"},
		{"sw8: 1-dHJhY2U=-c2Vn-0-a-b-c-d", "dHJhY2U="},
		{"x-request-id: a\x01\x1b[b", "a??[b"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream s = http();
		char head[256], wanted[256];

		snprintf(head, sizeof(head), "GET / HTTP/1.1\r\n%s\r\n\r\n", cases[i][0]);
		snprintf(wanted, sizeof(wanted), "request GET / id %s; sent %zu; ", cases[i][1],
			 strlen(head));
		stream_text(&s, SIDE_REQUESTS, head);
		tells(&s, wanted);
		stream_free(&s);
	}
}

static void test_endpoints(void **state)
{
	static const char *const cases[][2] = {
		{"/orders/17", "/orders/*"},
		{"/orders/17/items/3?x=1", "/orders/*/items/*"},
		{"/", "/"},
		{"/v1/users", "/v1/users"},
		{"/u/123e4567-e89b-12d3-a456-426614174000", "/u/*"},
		{"/c/deadbeefdeadbeef0123", "/c/*"},
		{"/cafe/beef", "/cafe/beef"},
		{"/a//b/", "/a//b/"},
		{"http://host:80/p/9", "/p/*"},
		{"*", "*"},
		{"/%41bc", "/*"},
		{"/x;jsessionid=1", "/x"},
		{"/reset/kQxWzPfLmBtRvYcN", "/reset/*"},
		{"/shop.v1.Orders/GetUserAccountDetails", "/shop.v1.Orders/GetUserAccountDetails"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream s = http();
		char head[256], wanted[256];

		snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n\r\n", cases[i][0]);
		snprintf(wanted, sizeof(wanted), "request GET %s; sent %zu; ", cases[i][1],
			 strlen(head));
		stream_text(&s, SIDE_REQUESTS, head);
		tells(&s, wanted);
		stream_free(&s);
	}
}

/* No value of a query, and no part that looks random. */
static void test_targets(void **state)
{
	static const char *const cases[][2] = {
		{"/find?q=shoes&page=2", "/find?q=*&page=*"},
		{"/find?session_secret=hunter2", "/find?session_secret=*"},
		{"/find?empty=&q=a=b&c", "/find?empty=&q=*&c"},
		{"/find?8f3a9c", "/find?*"},
		{"/find?{\"user\":\"x\"}", "/find?*"},
		{"/find?a=1;b=hidden&c=2#top", "/find?a=*&c=*"},
		{"/find?4bf92f3577b34da6a3ce929d0e0e4736=1", "/find?*=*"},
		{"/find?", "/find?"},
		{"/find?a=?&b=/x", "/find?a=*&b=*"},
		{"/x;jsessionid=81FA2/y;v=1?z=2", "/x;jsessionid=*/y;v=*?z=*"},
		{"/reset/4bf92f3577b34da6", "/reset/*"},
		{"/f/dGhpcyBpcyBhIHNlY3JldA/a.txt", "/f/*/a.txt"},
		{"/u/123e4567-e89b-12d3-a456-426614174000", "/u/*"},
		{"/reset/kQxWzPfLmBtRvYcN", "/reset/*"},
		{"/orders/17/items/3", "/orders/17/items/3"},
		{"/how-to-cook-a-very-long-goose", "/how-to-cook-a-very-long-goose"},
		{"/shop.v1.Orders/GetUserAccountDetails", "/shop.v1.Orders/GetUserAccountDetails"},
		{"http://me:hunter2@host:80/p", "http://*@host:80/p"},
		{"http://host/p?a=b@c", "http://host/p?a=*"},
		{"host:443", "host:443"},
		{"*", "*"},
		{"", ""},
	};
	char to[64], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(protocol_put_target(to, sizeof(to), cases[i][0], strlen(cases[i][0]),
						false));
		assert_string_equal(to, cases[i][1]);
	}
	/* what is asked for; a path's secrets are not */
	assert_true(
		protocol_put_target(to, sizeof(to), "/f/4bf92f3577b34da6;a=b?q=shoes", 31, true));
	assert_string_equal(to, "/f/*;a=b?q=shoes");
	/* what does not fit, and what ends early */
	assert_false(protocol_put_target(small, sizeof(small), "/find?q=shoes", 13, false));
	assert_string_equal(small, "/find?q");
	assert_true(protocol_put_target(to, sizeof(to), "/a\0b?c=d", 9, false));
	assert_string_equal(to, "/a");
	assert_true(protocol_put_target(to, sizeof(to), "/a\nb", 4, false));
	assert_string_equal(to, "/a?b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_pipelines),
		cmocka_unit_test(test_bodies_need_not_be_there),
		cmocka_unit_test(test_chunks_need_not_be_there),
		cmocka_unit_test(test_what_has_no_length_ends_with_the_connection_or_the_next),
		cmocka_unit_test(test_provisional_answers_are_none),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_heads_that_are_too_long),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
