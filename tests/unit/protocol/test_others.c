// SPDX-License-Identifier: Apache-2.0
/* Redis and PostgreSQL: what they tell of streams, cut anywhere. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>

#include "protocol/protocols.h"
#include "streams.h"

static void tells(struct stream *s, const char *text)
{
	buf_put_u8(&s->told, 0);
	assert_false(s->told.failed);
	assert_string_equal((const char *)s->told.at, text);
	s->told.count = 0;
}

#define GET_KEY "*2\r\n$3\r\nget\r\n$6\r\nuser:7\r\n" /* 25 bytes */

static void test_redis(void **state)
{
	struct stream s = {.protocol = &protocol_redis};

	(void)state;
	stream_text(&s, SIDE_REQUESTS, GET_KEY "*1\r\n$4\r\nPING\r\nping\r\n" GET_KEY);
	tells(&s, "request GET user:*; sent 25; request PING; sent 14; request PING; sent 6; "
		  "request GET user:*; sent 25; ");
	stream_text(&s, SIDE_ANSWERS, "$5\r\nab\r\nc\r\n+PONG\r\n+PONG\r\n-ERR no\r\n");
	tells(&s, "answer 0; answered 11; done; answer 0; answered 7; done; "
		  "answer 0; answered 7; done; answer 0 failed; answered 9; done; ");
	/* nested, and something pushed in between */
	stream_text(&s, SIDE_REQUESTS, GET_KEY GET_KEY);
	s.told.count = 0;
	stream_text(&s, SIDE_ANSWERS,
		    "*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n$-1\r\n>2\r\n+p\r\n+q\r\n*0\r\n");
	tells(&s, "answer 0; answered 25; done; answer 0; answered 4; done; ");
	assert_int_equal(s.losses.strange + s.losses.unseen, 0);
	stream_free(&s);
}

/* What is published between a command and its answer is none. */
static void test_redis_published(void **state)
{
	struct stream s = {.protocol = &protocol_redis};

	(void)state;
	stream_text(&s, SIDE_REQUESTS, "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n");
	stream_text(&s, SIDE_ANSWERS, "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
	tells(&s, "request SUBSCRIBE news; sent 29; answer 0; answered 33; done; ");
	stream_text(&s, SIDE_REQUESTS, "*2\r\n$11\r\nUNSUBSCRIBE\r\n$4\r\nnews\r\n");
	s.told.count = 0;
	stream_text(&s, SIDE_ANSWERS,
		    "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nhi\r\n"
		    "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nn\r\n$0\r\n\r\n");
	assert_int_equal(s.told.count, 0);
	stream_text(&s, SIDE_ANSWERS, "*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n");
	tells(&s, "answer 0; answered 36; done; ");
	stream_free(&s);
	/* a list may begin with that word */
	s = (struct stream){.protocol = &protocol_redis};
	stream_text(&s, SIDE_REQUESTS, "*1\r\n$4\r\nKEYS\r\n");
	s.told.count = 0;
	stream_text(&s, SIDE_ANSWERS, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n");
	tells(&s, "answer 0; answered 31; done; ");
	stream_free(&s);
}

/* Of a connection that is met in the middle: answers of several values look like commands. */
static void test_redis_sides(void **state)
{
	static const struct {
		const char *text;
		enum side side;
	} pieces[] = {
		{GET_KEY, SIDE_REQUESTS},
		{"*2\r\n$6\r\nSINTER\r\n$1\r\na\r\n", SIDE_REQUESTS},
		{"*6\r\n$10\r\nXREADGROUP\r\n$5\r\nGROUP\r\n", SIDE_REQUESTS},
		{"*2\r\n$11\r\nUNSUBSCRIBE\r\n$4\r\nnews\r\n", SIDE_REQUESTS},
		{"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n$1\r\na\r\n", SIDE_REQUESTS},
		/* a hash with a field of that name; a command of a module */
		{"*2\r\n$4\r\nrole\r\n$5\r\nadmin\r\n", SIDES},
		{"*2\r\n$9\r\nFT.SEARCH\r\n$1\r\na\r\n", SIDES},
		{"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n", SIDE_ANSWERS},
		{"*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n", SIDE_ANSWERS},
		{"*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n", SIDE_ANSWERS},
		{"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n", SIDES},
		{"*3\r\n$9\r\nsubscribe\r\n$99\r\nnews", SIDES},
		{"*3\r\n$9\r\nsubscribe", SIDES},
		{"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nhi\r\n", SIDE_ANSWERS},
		{"$2\r\nhi\r\n", SIDE_ANSWERS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		const struct piece piece = {.data = (const uint8_t *)pieces[i].text,
					    .copied = (uint32_t)strlen(pieces[i].text),
					    .length = (uint32_t)strlen(pieces[i].text)};

		assert_int_equal(protocol_redis.side_of(&piece), pieces[i].side);
	}
}

/* A key with a number is one of many; what says which version it is stays. */
static void test_redis_keys(void **state)
{
	static const struct {
		const char *key, *endpoint;
	} keys[] = {
		{"k", "GET k"},
		{"u77", "GET u*"},
		{"user12:name", "GET user*:name"},
		{"v2:user:7", "GET v2:user:*"},
		{"session:0f9a3c71d2", "GET session:*"},
		{"2fa:on", "GET 2fa:on"},
		{"job-a26f9d1e-beef-4c3e-9f2d-deadbeefcafe", "GET job-*"},
		{"beefcafe-dead-beef-dead-beefcafedead:x1", "GET *:x*"},
		{"rate{u1}", "GET rate{u*}"},
		{"session:kQxWz-PfLmB_tRvYcN", "GET session:*"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct stream s = {.protocol = &protocol_redis};
		char message[128], told[128];

		snprintf(message, sizeof(message), "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n",
			 strlen(keys[i].key), keys[i].key);
		snprintf(told, sizeof(told), "request %s; sent %zu; ", keys[i].endpoint,
			 strlen(message));
		stream_text(&s, SIDE_REQUESTS, message);
		tells(&s, told);
		stream_free(&s);
	}
}

static void test_redis_values_need_not_be_there(void **state)
{
	struct stream s = {.protocol = &protocol_redis};

	(void)state;
	stream_give(&s, SIDE_REQUESTS, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\nab", 29, 500, NULL);
	stream_give(&s, SIDE_REQUESTS, "", 0, 1027 - 498, NULL);
	assert_true(has_told(&s, "request SET k; "));
	s.told.count = 0;
	/* an answer of which more than its values is missing is over with the next request */
	stream_give(&s, SIDE_ANSWERS, "*2\r\n$1\r\na\r\n", 11, 100, NULL);
	stream_give(&s, SIDE_ANSWERS, "", 0, 50, NULL);
	stream_text(&s, SIDE_REQUESTS, GET_KEY);
	stream_text(&s, SIDE_ANSWERS, "+OK\r\n");
	assert_true(has_told(&s, "done? request GET user:*"));
	assert_true(has_told(&s, "answered 5; done; "));
	stream_free(&s);
}

static void test_redis_keeps_no_secrets(void **state)
{
	struct stream s = {.protocol = &protocol_redis};

	(void)state;
	stream_text(&s, SIDE_REQUESTS, "*2\r\n$4\r\nauth\r\n$6\r\ns3cr3t\r\n");
	tells(&s, "request AUTH; sent 26; ");
	stream_free(&s);
}

/* A message of PostgreSQL: a letter, its length, its body. */
static size_t put(char *to, char letter, const void *body, size_t size)
{
	to[0] = letter;
	to[1] = to[2] = 0;
	to[3] = (char)((size + 4) >> 8);
	to[4] = (char)(size + 4);
	memcpy(to + 5, body, size);
	return size + 5;
}

static size_t put_text(char *to, char letter, const char *text)
{
	return put(to, letter, text, strlen(text) + 1);
}

static const char startup[] = "\0\0\0\x11\0\3\0\0user\0me\0"; /* and the last zero */

/* Asked and answered, byte by byte where cut is 1. */
static void give(struct stream *s, enum side side, const char *data, size_t size, size_t cut)
{
	for (size_t at = 0; at < size; at += cut) {
		uint32_t n = (uint32_t)(size - at < cut ? size - at : cut);

		stream_give(s, side, data + at, n, n, NULL);
	}
}

static void test_postgresql(void **state)
{
	char data[512];
	size_t size;

	(void)state;
	for (size_t cut = 1; cut < 100; cut += 33) {
		struct stream s = {.protocol = &protocol_postgresql};

		give(&s, SIDE_REQUESTS, startup, sizeof(startup), cut);
		size = put(data, 'R', "\0\0\0\0", 4);
		size += put(data + size, 'Z', "I", 1);
		give(&s, SIDE_ANSWERS, data, size, cut);
		assert_false(has_told(&s, "answer"));
		s.told.count = 0;
		size = put_text(data, 'Q', "select 1,  'a''b' from t -- x\n;");
		give(&s, SIDE_REQUESTS, data, size, cut);
		assert_true(has_told(&s, "request select ? from t; "));
		s.told.count = 0;
		size = put(data, 'T', "xx", 2);
		size += put(data + size, 'D', "row", 3);
		size += put(data + size, 'E', "SERROR\0", 8);
		size += put(data + size, 'Z', "I", 1);
		give(&s, SIDE_ANSWERS, data, size, cut);
		assert_int_equal(strncmp((char *)s.told.at, "answer 0; ", 10), 0);
		assert_true(has_told(&s, "failed; "));
		assert_int_equal(strncmp((char *)s.told.at + s.told.count - 6, "done; ", 6), 0);
		assert_int_equal(s.losses.strange + s.losses.unseen, 0);
		stream_free(&s);
	}
}

static void test_postgresql_statements(void **state)
{
	struct stream s = {.protocol = &protocol_postgresql};
	char data[512];
	size_t size;

	(void)state;
	/* met in the middle: a statement that is not known */
	size = put(data, 'B', "\0old\0\0", 6);
	size += put(data + size, 'E', "\0\0\0\0", 5);
	size += put(data + size, 'S', "", 0);
	stream_give(&s, SIDE_REQUESTS, data, (uint32_t)size, (uint32_t)size, NULL);
	assert_int_equal(strncmp((char *)s.told.at, "request <statement from before>; ", 33), 0);
	size = put(data, '2', "", 0);
	size += put(data + size, 'Z', "I", 1);
	stream_give(&s, SIDE_ANSWERS, data, (uint32_t)size, (uint32_t)size, NULL);
	s.told.count = 0;
	/* one that is prepared, and then run twice */
	size = put(data, 'P', "p\0select $1 + 2\0\0", 18);
	size += put(data + size, 'S', "", 0);
	stream_give(&s, SIDE_REQUESTS, data, (uint32_t)size, (uint32_t)size, NULL);
	assert_int_equal(strncmp((char *)s.told.at, "request select $1 + ?; ", 23), 0);
	for (int i = 0; i < 2; i++) {
		size = put(data, '1', "", 0);
		size += put(data + size, 'Z', "I", 1);
		stream_give(&s, SIDE_ANSWERS, data, (uint32_t)size, (uint32_t)size, NULL);
		s.told.count = 0;
		size = put(data, 'B', "\0p\0\0", 4);
		size += put(data + size, 'S', "", 0);
		stream_give(&s, SIDE_REQUESTS, data, (uint32_t)size, (uint32_t)size, NULL);
		assert_int_equal(strncmp((char *)s.told.at, "request select $1 + ?; ", 23), 0);
	}
	s.told.count = 0;
	/* rows that are not there, and the end of them, which is */
	size = put(data, '2', "", 0);
	stream_give(&s, SIDE_ANSWERS, data, (uint32_t)size, 9000, "CTZ\0\0\0\5I");
	tells(&s, "answer 0; answered 5; answered 8995; done; ");
	assert_int_equal(s.losses.strange + s.losses.unseen, 0);
	stream_free(&s);
}

static void test_sql(void **state)
{
	static const char *const cases[][2] = {
		{"SELECT 1", "SELECT ?"},
		{"select * from t1 where a=-1 and b = 'x' or c in (1, 2,3)",
		 "select * from t1 where a=? and b = ? or c in (?)"},
		{"insert into t values (1,'a'), (2,'b')", "insert into t values (?), (?)"},
		{"select 'it''s' /* no */ , \"Col1\" from t; ", "select ? , \"Col1\" from t"},
		{"  \n select\t1.5e3", "select ?"},
		{"select 'open", "select ?"},
		{"", ""},
	};
	char sql[PROTOCOL_ENDPOINT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		protocol_put_sql(sql, sizeof(sql), cases[i][0], strlen(cases[i][0]));
		assert_string_equal(sql, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redis),
		cmocka_unit_test(test_redis_sides),
		cmocka_unit_test(test_redis_published),
		cmocka_unit_test(test_redis_keys),
		cmocka_unit_test(test_redis_values_need_not_be_there),
		cmocka_unit_test(test_redis_keeps_no_secrets),
		cmocka_unit_test(test_postgresql),
		cmocka_unit_test(test_postgresql_statements),
		cmocka_unit_test(test_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
