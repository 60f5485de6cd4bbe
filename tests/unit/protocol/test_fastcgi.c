// SPDX-License-Identifier: Apache-2.0
/* FastCGI: what it tells of streams, cut anywhere, and of which parts are missing. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>

#include "protocol/protocols.h"
#include "streams.h"

enum {
	BEGIN = 1,
	END = 3,
	PARAMS = 4,
	STDIN = 5,
	STDOUT = 6,
	STDERR = 7,
};

/* A message in the making. */
struct message {
	uint8_t at[40000];
	size_t size;
};

static void put(struct message *m, uint8_t type, const void *content, size_t size)
{
	const uint8_t head[8] = {1, type, 0, 1, (uint8_t)(size >> 8), (uint8_t)size, 3, 0};

	memcpy(m->at + m->size, head, sizeof(head));
	memcpy(m->at + m->size + sizeof(head), content, size);
	memset(m->at + m->size + sizeof(head) + size, 0, 3);
	m->size += sizeof(head) + size + 3;
}

static void put_text(struct message *m, uint8_t type, const char *text)
{
	put(m, type, text, strlen(text));
}

static size_t put_param(uint8_t *to, const char *name, const char *value)
{
	size_t size = strlen(value), at = 0;

	to[at++] = (uint8_t)strlen(name);
	if (size < 128) {
		to[at++] = (uint8_t)size;
	} else {
		to[at++] = 0x80;
		to[at++] = 0;
		to[at++] = (uint8_t)(size >> 8);
		to[at++] = (uint8_t)size;
	}
	memcpy(to + at, name, strlen(name));
	memcpy(to + at + strlen(name), value, size);
	return at + strlen(name) + size;
}

/* A request as nginx sends it; its cookie has that many bytes. */
static struct message request_with(size_t cookie_size)
{
	static const uint8_t begin[8] = {0, 1};
	struct message m = {0};
	uint8_t params[20000];
	char cookie[16000];
	size_t size = 0;

	memset(cookie, 'c', cookie_size);
	cookie[cookie_size] = 0;
	put(&m, BEGIN, begin, sizeof(begin));
	size += put_param(params + size, "REQUEST_METHOD", "POST");
	size += put_param(params + size, "SCRIPT_NAME", "/index.php");
	size += put_param(params + size, "REQUEST_URI", "/item/17?a=b");
	size += put_param(params + size, "HTTP_X_REQUEST_ID", "abc-1");
	size += put_param(params + size, "HTTP_COOKIE", cookie);
	put(&m, PARAMS, params, size);
	return m;
}

static struct message request(void)
{
	struct message m = request_with(200);

	put_text(&m, PARAMS, "");
	put_text(&m, STDIN, "body");
	put_text(&m, STDIN, "");
	return m;
}

static struct message answer(const char *head)
{
	static const uint8_t end[8] = {0};
	struct message m = {0};

	put_text(&m, STDERR, "PHP message: planted");
	put_text(&m, STDOUT, head);
	put_text(&m, STDOUT, "more");
	put_text(&m, STDOUT, "");
	put(&m, END, end, sizeof(end));
	return m;
}

static void give(struct stream *s, enum side side, const struct message *m)
{
	stream_give(s, side, m->at, (uint32_t)m->size, (uint32_t)m->size, NULL);
}

static void tells(struct stream *s, const char *text)
{
	buf_put_u8(&s->told, 0);
	assert_false(s->told.failed);
	assert_string_equal((const char *)s->told.at, text);
	s->told.count = 0;
}

static void test_requests_on_one_connection(void **state)
{
	const struct message asked = request(), good = answer("Content-type: text/html\r\n\r\nx");
	const struct message bad = answer("Status: 503 Down\r\nX: y\r\n\r\n");
	struct stream s = {.protocol = &protocol_fastcgi};
	char words[200];

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct message *answered = i == 1 ? &bad : &good;

		give(&s, SIDE_REQUESTS, &asked);
		snprintf(words, sizeof(words), "request POST /item/* id abc-1; sent %zu; ",
			 asked.size);
		tells(&s, words);
		give(&s, SIDE_ANSWERS, answered);
		snprintf(words, sizeof(words), "answer %s; answered %zu; done; ",
			 i == 1 ? "503 failed" : "200", answered->size - 3);
		tells(&s, words);
	}
	assert_int_equal(s.losses.strange + s.losses.long_heads + s.losses.unseen, 0);
	stream_free(&s);
}

/* php-fpm reads heads and what follows them by calls of their own. */
static void test_cut_anywhere(void **state)
{
	const struct message asked = request(), answered = answer("Status: 404 No\r\n\r\n");

	(void)state;
	for (uint32_t i = 1; i < asked.size; i++)
		for (uint32_t k = 1; k < answered.size; k += 3) {
			struct stream s = {.protocol = &protocol_fastcgi};

			stream_give(&s, SIDE_REQUESTS, asked.at, i, i, NULL);
			stream_give(&s, SIDE_REQUESTS, asked.at + i, (uint32_t)asked.size - i,
				    (uint32_t)asked.size - i, NULL);
			stream_give(&s, SIDE_ANSWERS, answered.at, k, k, NULL);
			stream_give(&s, SIDE_ANSWERS, answered.at + k, (uint32_t)answered.size - k,
				    (uint32_t)answered.size - k, NULL);
			assert_true(has_told(&s, "request POST /item/* id abc-1; "));
			assert_true(has_told(&s, "done; "));
			assert_int_equal(s.losses.strange + s.losses.unseen, 0);
			stream_free(&s);
		}
}

static void test_long_parameters_are_not_all_copied(void **state)
{
	struct message asked = request_with(9000), answered = answer("X: y\r\n\r\n");
	struct stream s = {.protocol = &protocol_fastcgi};

	(void)state;
	put_text(&asked, PARAMS, "");
	put_text(&asked, STDIN, "");
	stream_give(&s, SIDE_REQUESTS, asked.at, 4096, (uint32_t)asked.size, NULL);
	assert_true(has_told(&s, "request POST /item/* id abc-1; "));
	assert_int_equal(s.losses.long_heads, 1);
	give(&s, SIDE_ANSWERS, &answered);
	assert_true(has_told(&s, "done; "));
	/* and the next one is found again */
	s.told.count = 0;
	asked = request();
	give(&s, SIDE_REQUESTS, &asked);
	assert_true(has_told(&s, "request POST /item/* id abc-1; "));
	stream_free(&s);
}

static void test_end_of_a_long_answer(void **state)
{
	static const uint8_t end[8] = {0};
	static char text[30000];
	const struct message asked = request();
	struct message answered = {0};
	struct stream s = {.protocol = &protocol_fastcgi};

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "A: b\r\n\r\n", 8);
	put_text(&answered, STDOUT, text);
	put(&answered, END, end, sizeof(end));
	answered.size -= 3;
	answered.at[answered.size - sizeof(end) - 2] = 0; /* the last record has no padding */
	give(&s, SIDE_REQUESTS, &asked);
	/* the beginning is there, and the last bytes: as php-fpm sends it */
	stream_give(&s, SIDE_ANSWERS, answered.at, 512, (uint32_t)answered.size,
		    (const char *)answered.at + answered.size - PIECE_TAIL);
	assert_true(has_told(&s, "answer 200; answered 30"));
	assert_true(has_told(&s, "done; "));
	/* without them it ends with the connection, and that is said */
	s.told.count = 0;
	give(&s, SIDE_REQUESTS, &asked);
	stream_give(&s, SIDE_ANSWERS, answered.at, 512, (uint32_t)answered.size, NULL);
	assert_false(has_told(&s, "done"));
	stream_ended(&s);
	assert_true(has_told(&s, "done? "));
	stream_free(&s);
}

/* Of what ends like this, and is longer, nothing is known. */
static void test_zeros_of_a_file_end_nothing(void **state)
{
	static const char zeros[PIECE_TAIL];
	static uint8_t data[9000] = {1, STDOUT, 0, 1, 0x20, 0, 0, 0, 'A', ':', 'b', '\n', '\n'};
	const struct message asked = request();
	struct stream s = {.protocol = &protocol_fastcgi};

	(void)state;
	give(&s, SIDE_REQUESTS, &asked);
	stream_give(&s, SIDE_ANSWERS, data, 512, sizeof(data), zeros);
	assert_true(has_told(&s, "answer 200; answered 9000; "));
	assert_false(has_told(&s, "done"));
	stream_free(&s);
}

static void test_what_is_not_fastcgi(void **state)
{
	struct stream s = {.protocol = &protocol_fastcgi};

	(void)state;
	stream_text(&s, SIDE_REQUESTS, "GET / HTTP/1.1\r\n\r\n");
	stream_text(&s, SIDE_ANSWERS, "HTTP/1.1 200 OK\r\n\r\n");
	assert_int_equal(s.told.count, 0);
	assert_int_equal(s.losses.strange, 2);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_on_one_connection),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_long_parameters_are_not_all_copied),
		cmocka_unit_test(test_end_of_a_long_answer),
		cmocka_unit_test(test_zeros_of_a_file_end_nothing),
		cmocka_unit_test(test_what_is_not_fastcgi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
