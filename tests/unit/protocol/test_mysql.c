// SPDX-License-Identifier: Apache-2.0
/* MySQL's protocol: commands and answers, cut anywhere, in part, and met in the middle. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "protocol/protocols.h"
#include "streams.h"

static void tells(struct stream *s, const char *text)
{
	buf_put_u8(&s->told, 0);
	assert_false(s->told.failed);
	assert_string_equal((const char *)s->told.at, text);
	s->told.count = 0;
}

static void put(struct buf *out, uint8_t number, const void *data, size_t size)
{
	const uint8_t head[] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), number};

	buf_put(out, head, sizeof(head));
	buf_put(out, data, size);
}

/* Gives what was put, in pieces of at most that many bytes. */
static void give(struct stream *s, enum side side, struct buf *out, size_t cut)
{
	for (size_t at = 0; at < out->count; at += cut) {
		uint32_t n = (uint32_t)(out->count - at < cut ? out->count - at : cut);

		stream_give(s, side, out->at + at, n, n, NULL);
	}
	out->count = 0;
}

#define QUERY		"\3select 'a', \"b\" from t"
#define COLUMN		"\3def\0\0\0\1a\0\x0c\x3f\0\1\0\0\0\3\0\0\0\0\0"
#define END(state)	"\xfe\0\0" state "\0"
#define ALL_WELL(state) "\0\0\0" state "\0\0\0"
#define BYTES(text)	(text), sizeof(text) - 1

/* A greeting, what the client wants, and that all is well; ends: of the columns' definitions. */
static void greet(struct stream *s, struct buf *out, bool ends)
{
	char wants[40] = "\0\0\0\0";

	put(out, 0, "\n5.5.5-10.11-unit\0aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 46);
	give(s, SIDE_ANSWERS, out, 4096);
	wants[3] = ends ? 0 : 1;
	put(out, 1, wants, sizeof(wants));
	give(s, SIDE_REQUESTS, out, 4096);
	put(out, 2, BYTES(ALL_WELL("\2")));
	give(s, SIDE_ANSWERS, out, 4096);
	tells(s, "");
}

/* Rows, however they are cut, and whichever form their end has. */
static void test_rows(void **state)
{
	(void)state;
	for (int ends = 0; ends < 2; ends++)
		for (size_t cut = 1; cut < 60; cut++) {
			struct stream s = {.protocol = &protocol_mysql};
			struct buf out = {0};

			greet(&s, &out, ends);
			put(&out, 0, BYTES(QUERY));
			give(&s, SIDE_REQUESTS, &out, cut);
			tells(&s, "request select ? from t; sent 27; ");
			put(&out, 1, "\1", 1);
			put(&out, 2, BYTES(COLUMN));
			if (ends)
				put(&out, 3, BYTES(END("\2")));
			put(&out, 4, "\1x", 2);
			if (ends)
				put(&out, 5, BYTES(END("\2")));
			else
				put(&out, 5, BYTES("\xfe\0\0\2\0\0\0"));
			give(&s, SIDE_ANSWERS, &out, cut);
			assert_true(has_told(&s, "answer 0; answered 5; "));
			assert_int_equal(memcmp(s.told.at + s.told.count - 6, "done; ", 6), 0);
			assert_int_equal(s.losses.strange + s.losses.unseen, 0);
			buf_free(&out);
			stream_free(&s);
		}
}

static void test_statements(void **state)
{
	struct stream s = {.protocol = &protocol_mysql};
	struct buf out = {0};

	(void)state;
	/* met in the middle: a statement that is not known */
	put(&out, 0, "\x17\7\0\0\0\0\1\0\0\0", 10);
	give(&s, SIDE_REQUESTS, &out, 4096);
	tells(&s, "request <statement from before>; sent 14; ");
	put(&out, 1, BYTES(ALL_WELL("\2")));
	give(&s, SIDE_ANSWERS, &out, 4096);
	tells(&s, "answer 0; answered 11; done; ");
	/* two definitions of parameters, and one of a column, each with an end */
	put(&out, 0, BYTES("\x16select a from t where b = 1 or c = ?"));
	give(&s, SIDE_REQUESTS, &out, 4096);
	assert_true(has_told(&s, "request PREPARE select a from t where b = ? or c = ?; "));
	s.told.count = 0;
	put(&out, 1, "\0\7\0\0\0\1\0\2\0\0\0\0", 12);
	put(&out, 2, BYTES(COLUMN));
	put(&out, 3, BYTES(COLUMN));
	put(&out, 4, BYTES(END("\2")));
	put(&out, 5, BYTES(COLUMN));
	give(&s, SIDE_ANSWERS, &out, 4096);
	assert_false(has_told(&s, "done"));
	put(&out, 6, BYTES(END("\2")));
	give(&s, SIDE_ANSWERS, &out, 4096);
	assert_true(has_told(&s, "done; "));
	s.told.count = 0;
	put(&out, 0, "\x17\7\0\0\0\0\1\0\0\0", 10);
	give(&s, SIDE_REQUESTS, &out, 4);
	assert_true(has_told(&s, "request select a from t where b = ? or c = ?; "));
	s.told.count = 0;
	put(&out, 1, BYTES("\xff\x7a\4#42S02no"));
	give(&s, SIDE_ANSWERS, &out, 4096);
	tells(&s, "answer 0; answered 15; failed; done; ");
	/* none of these has an answer */
	put(&out, 0, "\x19\7\0\0\0", 5);
	give(&s, SIDE_REQUESTS, &out, 4096);
	put(&out, 0, "\1", 1);
	give(&s, SIDE_REQUESTS, &out, 4096);
	tells(&s, "");
	put(&out, 0, "\x17\7\0\0\0\0\1\0\0\0", 10);
	give(&s, SIDE_REQUESTS, &out, 4096);
	assert_true(has_told(&s, "request <statement from before>; "));
	assert_int_equal(s.losses.strange + s.losses.unseen, 0);
	buf_free(&out);
	stream_free(&s);
}

static void test_several_answers_and_parts(void **state)
{
	struct stream s = {.protocol = &protocol_mysql};
	struct buf out = {0};
	uint32_t size;

	(void)state;
	greet(&s, &out, true);
	put(&out, 0, BYTES("\3update t set a = 1; update t set a = 2"));
	give(&s, SIDE_REQUESTS, &out, 4096);
	s.told.count = 0;
	put(&out, 1, BYTES(ALL_WELL("\x0a")));
	give(&s, SIDE_ANSWERS, &out, 4096);
	tells(&s, "answer 0; answered 11; ");
	put(&out, 2, BYTES(ALL_WELL("\2")));
	give(&s, SIDE_ANSWERS, &out, 4096);
	tells(&s, "answered 11; done; ");
	/* rows that were not copied, and the end of them, which was */
	put(&out, 0, BYTES(QUERY));
	give(&s, SIDE_REQUESTS, &out, 4096);
	s.told.count = 0;
	put(&out, 1, "\1", 1);
	put(&out, 2, BYTES(COLUMN));
	size = (uint32_t)out.count;
	stream_give(&s, SIDE_ANSWERS, out.at, size - 3, size + 9000, "\0\0\x99\xfe\0\0\2\0");
	out.count = 0;
	assert_true(has_told(&s, "done; "));
	assert_int_equal(s.losses.unseen, 0);
	/* and of which it was not: the next command ends it */
	s.told.count = 0;
	put(&out, 0, BYTES(QUERY));
	give(&s, SIDE_REQUESTS, &out, 4096);
	stream_give(&s, SIDE_ANSWERS, "", 0, 5000, "abcdefgh");
	assert_false(has_told(&s, "done"));
	put(&out, 0, "\x0e", 1);
	give(&s, SIDE_REQUESTS, &out, 4096);
	assert_true(has_told(&s, "answered 5000; done; request PING; sent 5; "));
	s.told.count = 0;
	put(&out, 1, BYTES(ALL_WELL("\2")));
	give(&s, SIDE_ANSWERS, &out, 4096);
	tells(&s, "answer 0; answered 11; done; ");
	put(&out, 0, "\x7f", 1);
	give(&s, SIDE_REQUESTS, &out, 4096);
	assert_int_equal(s.losses.strange, 1);
	buf_free(&out);
	stream_free(&s);
}

/* What is encrypted from then on is not read. */
static void test_encrypted(void **state)
{
	struct stream s = {.protocol = &protocol_mysql};
	struct buf out = {0};
	char wants[32] = "\0\x08";

	(void)state;
	put(&out, 1, wants, sizeof(wants));
	give(&s, SIDE_REQUESTS, &out, 4096);
	put(&out, 0, BYTES(QUERY));
	give(&s, SIDE_REQUESTS, &out, 4096);
	tells(&s, "");
	buf_free(&out);
	stream_free(&s);
}

/* -- compressed connections -------------------------------------------------------------------- */

enum how {
	AS_IT_IS,
	ZLIB,
	ZSTD,
	DAMAGED,
	HOWS
};

/* Puts what was put into a packet of the other kind. */
static void pack(struct buf *out, uint8_t number, enum how how)
{
	uint8_t packed[4096], head[7] = {[3] = number};
	uLongf size = sizeof(packed);
	size_t whole = out->count;

	if (how == AS_IT_IS) {
		size = whole;
		memcpy(packed, out->at, whole);
	} else if (how == ZSTD) {
		size = ZSTD_compress(packed, sizeof(packed), out->at, whole, 3);
	} else {
		assert_int_equal(compress(packed, &size, out->at, whole), Z_OK);
	}
	if (how == DAMAGED)
		memset(packed + 3, 0xa5, size - 3);
	for (int i = 0; i < 3; i++) {
		head[i] = (uint8_t)(size >> 8 * i);
		head[4 + i] = how == AS_IT_IS ? 0 : (uint8_t)(whole >> 8 * i);
	}
	out->count = 0;
	buf_put(out, head, sizeof(head));
	buf_put(out, packed, size);
}

/* offered: by the server */
static void greet_packed(struct stream *s, struct buf *out, bool offered)
{
	char wants[40] = "\x20\0\0\0", greeting[46] = "\n5.5.5-10.11-unit";

	/* behind the version */
	greeting[18 + 13] = offered ? '\x20' : 0;
	put(out, 0, greeting, sizeof(greeting));
	give(s, SIDE_ANSWERS, out, 4096);
	put(out, 1, wants, sizeof(wants));
	give(s, SIDE_REQUESTS, out, 4096);
	put(out, 2, BYTES(ALL_WELL("\2")));
	give(s, SIDE_ANSWERS, out, 4096);
	tells(s, "");
}

static void test_packed(void **state)
{
	(void)state;
	for (enum how how = 0; how < DAMAGED; how++)
		for (size_t cut = 1; cut < 60; cut++) {
			struct stream s = {.protocol = &protocol_mysql};
			char told[80];
			struct buf out = {0};

			greet_packed(&s, &out, true);
			put(&out, 0, BYTES(QUERY));
			pack(&out, 0, how);
			snprintf(told, sizeof(told), "request select ? from t; sent %zu; ",
				 out.count);
			give(&s, SIDE_REQUESTS, &out, cut);
			tells(&s, told);
			put(&out, 1, "\1", 1);
			put(&out, 2, BYTES(COLUMN));
			put(&out, 3, BYTES(END("\2")));
			put(&out, 4, "\1x", 2);
			put(&out, 5, BYTES(END("\2")));
			pack(&out, 1, how);
			give(&s, SIDE_ANSWERS, &out, cut);
			assert_true(has_told(&s, "answer 0; answered "));
			assert_int_equal(memcmp(s.told.at + s.told.count - 6, "done; ", 6), 0);
			assert_int_equal(s.losses.strange + s.losses.unseen, 0);
			buf_free(&out);
			stream_free(&s);
		}
}

/* What the server did not offer is not done, although the client wants it. */
static void test_packed_by_agreement(void **state)
{
	struct stream s = {.protocol = &protocol_mysql};
	struct buf out = {0};

	(void)state;
	greet_packed(&s, &out, false);
	put(&out, 0, BYTES(QUERY));
	give(&s, SIDE_REQUESTS, &out, 4096);
	tells(&s, "request select ? from t; sent 27; ");
	buf_free(&out);
	stream_free(&s);
}

/* A connection from before; where only a part is there, or what is there is damaged. */
static void test_packed_in_part(void **state)
{
	struct stream s = {.protocol = &protocol_mysql};
	struct buf out = {0};
	char sql[2000] = "\3select '";
	uint32_t size;

	(void)state;
	for (size_t i = strlen(sql); i < sizeof(sql); i++)
		sql[i] = (char)('a' + i * i % 23);
	memcpy(sql + sizeof(sql) - 8, "' from t", 8);
	for (int i = 0; i < 2; i++) {
		put(&out, 0, BYTES(QUERY));
		pack(&out, 0, i ? ZLIB : AS_IT_IS);
		give(&s, SIDE_REQUESTS, &out, 4096);
		assert_true(has_told(&s, "request select ? from t; "));
		s.told.count = 0;
	}
	/* one half is enough for its beginning */
	put(&out, 0, sql, sizeof(sql));
	pack(&out, 0, ZLIB);
	size = (uint32_t)out.count;
	stream_give(&s, SIDE_REQUESTS, out.at, size / 2, size, NULL);
	assert_true(has_told(&s, "request select ?"));
	assert_int_equal(s.losses.strange + s.losses.unseen, 0);
	/* of what cannot be unpacked nothing is said, but that it is lost */
	s.told.count = out.count = 0;
	put(&out, 0, BYTES(QUERY));
	pack(&out, 0, DAMAGED);
	give(&s, SIDE_REQUESTS, &out, 4096);
	assert_false(has_told(&s, "request"));
	assert_int_equal(s.losses.strange, 1);
	assert_int_equal(s.losses.unseen, 1);
	/* and the next one is found again */
	s.told.count = 0;
	put(&out, 0, BYTES(QUERY));
	pack(&out, 0, ZLIB);
	give(&s, SIDE_REQUESTS, &out, 4096);
	assert_true(has_told(&s, "request select ? from t; "));
	buf_free(&out);
	stream_free(&s);
}

/* A server reads heads by themselves: the first command looks like one that is not packed. */
static void test_packed_is_seen_late(void **state)
{
	struct stream s = {.protocol = &protocol_mysql};
	struct buf out = {0};

	(void)state;
	put(&out, 0, BYTES(QUERY));
	give(&s, SIDE_REQUESTS, &out, 4096);
	tells(&s, "request select ? from t; sent 27; ");
	put(&out, 1, BYTES(ALL_WELL("\2")));
	pack(&out, 1, AS_IT_IS);
	give(&s, SIDE_ANSWERS, &out, 4096);
	for (int i = 0; i < 2; i++) {
		s.told.count = 0;
		put(&out, 0, BYTES(QUERY));
		pack(&out, 0, AS_IT_IS);
		stream_give(&s, SIDE_REQUESTS, out.at, 7, 7, NULL);
		stream_give(&s, SIDE_REQUESTS, out.at + 7, (uint32_t)out.count - 7,
			    (uint32_t)out.count - 7, NULL);
		out.count = 0;
		assert_true(has_told(&s, "request select ? from t; sent 34; "));
		put(&out, 1, BYTES(ALL_WELL("\2")));
		pack(&out, 1, AS_IT_IS);
		give(&s, SIDE_ANSWERS, &out, 4096);
		assert_true(has_told(&s, "answer 0; answered 18; done; "));
	}
	assert_int_equal(s.losses.strange + s.losses.unseen, 0);
	buf_free(&out);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_packed_by_agreement),
		cmocka_unit_test(test_packed_in_part),
		cmocka_unit_test(test_packed_is_seen_late),
		cmocka_unit_test(test_several_answers_and_parts),
		cmocka_unit_test(test_encrypted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
