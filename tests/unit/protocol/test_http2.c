// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/2 and gRPC: blocks of headers made by libnghttp2's deflater, frames by hand, cut anywhere.
 */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "protocol/protocols.h"
#include "streams.h"

enum {
	DATA,
	HEADERS,
	RST = 3,
	SETTINGS,
	PUSH = 5,
	CONTINUATION = 9
};
enum {
	END_STREAM = 1,
	END_HEADERS = 4,
	PADDED = 8,
	PRIORITY = 32
};

/* Both sides of a connection. */
struct peers {
	struct stream s;
	nghttp2_hd_deflater *deflaters[SIDES];
	struct buf out;
};

static struct peers make(void)
{
	struct peers p = {.s = {.protocol = &protocol_http2}};

	for (int i = 0; i < SIDES; i++)
		assert_int_equal(nghttp2_hd_deflate_new(&p.deflaters[i], 4096), 0);
	return p;
}

static void drop(struct peers *p)
{
	for (int i = 0; i < SIDES; i++)
		nghttp2_hd_deflate_del(p->deflaters[i]);
	buf_free(&p->out);
	stream_free(&p->s);
}

static void tells(struct stream *s, const char *text)
{
	buf_put_u8(&s->told, 0);
	assert_false(s->told.failed);
	assert_string_equal((const char *)s->told.at, text);
	s->told.count = 0;
}

static void put_frame(struct buf *out, int type, int flags, uint32_t id, const void *data,
		      size_t size)
{
	const uint8_t head[] = {(uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size,
				(uint8_t)type,	       (uint8_t)flags,	     (uint8_t)(id >> 24),
				(uint8_t)(id >> 16),   (uint8_t)(id >> 8),   (uint8_t)id};

	buf_put(out, head, sizeof(head));
	if (size)
		buf_put(out, data, size);
}

/* "name value" pairs, ending with a null, as a block; returns its size. */
static size_t deflate(nghttp2_hd_deflater *deflater, uint8_t *to, size_t size,
		      const char *const *texts)
{
	nghttp2_nv fields[16];
	size_t count = 0;
	ssize_t n;

	for (; *texts; texts += 2, count++)
		fields[count] = (nghttp2_nv){(uint8_t *)texts[0], (uint8_t *)texts[1],
					     strlen(texts[0]), strlen(texts[1]), 0};
	n = nghttp2_hd_deflate_hd(deflater, to, size, fields, count);
	assert_true(n > 0);
	return (size_t)n;
}

static size_t put_headers(struct peers *p, enum side side, int flags, uint32_t id,
			  const char *const *texts)
{
	uint8_t block[1024];
	size_t size = deflate(p->deflaters[side], block, sizeof(block), texts);

	put_frame(&p->out, HEADERS, flags | END_HEADERS, id, block, size);
	return size + 9;
}

/* Gives what was put, in pieces of at most that many bytes. */
static void give(struct peers *p, enum side side, size_t cut)
{
	for (size_t at = 0; at < p->out.count; at += cut) {
		uint32_t n = (uint32_t)(p->out.count - at < cut ? p->out.count - at : cut);

		stream_give(&p->s, side, p->out.at + at, n, n, NULL);
	}
	p->out.count = 0;
}

#define REQUEST(path)                                                                       \
	(const char *const[])                                                               \
	{                                                                                   \
		":method", "GET", ":scheme", "http", ":path", path, ":authority", "x", NULL \
	}
#define STATUS(number)                                    \
	(const char *const[])                             \
	{                                                 \
		":status", number, "server", "unit", NULL \
	}

static void begin(struct peers *p)
{
	buf_put_text(&p->out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	put_frame(&p->out, SETTINGS, 0, 0, "\0\3\0\0\0\x64", 6);
	give(p, SIDE_REQUESTS, 4096);
	put_frame(&p->out, SETTINGS, 0, 0, NULL, 0);
	give(p, SIDE_ANSWERS, 4096);
	tells(&p->s, "");
}

/*
 * A request of HTTP/1 has its answer in stream 1, behind the answer that goes over; cut anywhere.
 */
static void test_an_upgrade(void **state)
{
	static const char ask[] = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, "
				  "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n";
	static const char over[] =
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

	(void)state;
	for (size_t cut = 1; cut < 200; cut++) {
		struct peers p = make();
		struct stream *s = &p.s;

		s->protocol = &protocol_http1;
		stream_text(s, SIDE_REQUESTS, ask);
		assert_true(has_told(s, "request GET /a; "));
		s->told.count = 0;
		buf_put_text(&p.out, over);
		put_frame(&p.out, SETTINGS, 0, 0, NULL, 0);
		put_headers(&p, SIDE_ANSWERS, 0, 1, STATUS("200"));
		put_frame(&p.out, DATA, END_STREAM, 1, "answer", 6);
		give(&p, SIDE_ANSWERS, cut);
		assert_true(has_told(s, "upgraded to #1; "));
		assert_true(has_told(s, "#1 answer 200; "));
		assert_true(has_told(s, "#1 done; "));
		assert_false(has_told(s, "answer 101"));
		s->told.count = 0;
		buf_put_text(&p.out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
		put_frame(&p.out, SETTINGS, 0, 0, NULL, 0);
		put_headers(&p, SIDE_REQUESTS, END_STREAM, 3, REQUEST("/b"));
		give(&p, SIDE_REQUESTS, cut);
		put_headers(&p, SIDE_ANSWERS, END_STREAM, 3, STATUS("404"));
		give(&p, SIDE_ANSWERS, cut);
		assert_true(has_told(s, "#3 request GET /b; "));
		assert_true(has_told(s, "#3 answer 404; "));
		assert_true(has_told(s, "#3 done; "));
		assert_int_equal(s->losses.strange + s->losses.unseen + s->losses.no_path, 0);
		drop(&p);
	}
}

/* Answers come in another order than requests, cut anywhere. */
static void test_streams_at_once(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 64; cut++) {
		struct peers p = make();
		struct stream *s = &p.s;

		begin(&p);
		put_headers(&p, SIDE_REQUESTS, END_STREAM, 1, REQUEST("/a/1"));
		put_headers(&p, SIDE_REQUESTS, 0, 3, REQUEST("/b"));
		put_frame(&p.out, DATA, END_STREAM, 3, "body", 4);
		give(&p, SIDE_REQUESTS, cut);
		assert_true(has_told(s, "#1 request GET /a/*; "));
		assert_true(has_told(s, "#3 request GET /b; "));
		s->told.count = 0;
		put_headers(&p, SIDE_ANSWERS, 0, 3, STATUS("200"));
		put_headers(&p, SIDE_ANSWERS, END_STREAM, 1, STATUS("503"));
		put_frame(&p.out, DATA, END_STREAM, 3, "answer", 6);
		give(&p, SIDE_ANSWERS, cut);
		assert_true(has_told(s, "#3 answer 200; "));
		assert_true(has_told(s, "#1 answer 503 failed; "));
		assert_true(has_told(s, "#1 done; "));
		assert_string_equal(
			(buf_put_u8(&s->told, 0), (char *)s->told.at + s->told.count - 10),
			"#3 done; ");
		assert_int_equal(s->losses.strange + s->losses.unseen + s->losses.no_path, 0);
		drop(&p);
	}
}

static void test_grpc(void **state)
{
	static const char *const asked[] = {":method",
					    "POST",
					    ":path",
					    "/pkg.Service/Get",
					    "content-type",
					    "application/grpc+proto",
					    "traceparent",
					    "00-0af7651916cd43dd8448eb211c80319c-b7ad-01",
					    NULL};
	static const char *const answer[] = {":status", "200", "content-type", "application/grpc",
					     NULL};
	static const char *const trailers[] = {"grpc-status", "5", "grpc-message", "none", NULL};
	static const char *const only[] = {
		":status", "200", "content-type", "application/grpc", "grpc-status", "0", NULL};
	struct peers p = make();

	(void)state;
	begin(&p);
	put_headers(&p, SIDE_REQUESTS, 0, 1, asked);
	put_headers(&p, SIDE_REQUESTS, END_STREAM, 3, asked);
	give(&p, SIDE_REQUESTS, 4096);
	assert_true(has_told(
		&p.s, "#1 request POST /pkg.Service/Get id 0af7651916cd43dd8448eb211c80319c; "));
	p.s.told.count = 0;
	put_headers(&p, SIDE_ANSWERS, 0, 1, answer);
	put_frame(&p.out, DATA, 0, 1, "\0\0\0\0\1x", 6);
	put_headers(&p, SIDE_ANSWERS, END_STREAM, 1, trailers);
	give(&p, SIDE_ANSWERS, 4096);
	assert_true(has_told(&p.s, "#1 answer 0; "));
	assert_true(has_told(&p.s, "status 5; failed; "));
	assert_true(has_told(&p.s, "#1 done; "));
	p.s.told.count = 0;
	put_headers(&p, SIDE_ANSWERS, END_STREAM, 3, only);
	give(&p, SIDE_ANSWERS, 4096);
	assert_true(has_told(&p.s, "#3 answer 0; status 0; "));
	assert_true(has_told(&p.s, "#3 done; "));
	drop(&p);
}

/* What a connection said before is not known, but what it says from then on. */
static void test_met_in_the_middle(void **state)
{
	struct peers p = make();

	(void)state;
	/* 62 is the newest entry of the table: here, of a path from before */
	put_frame(&p.out, HEADERS, END_STREAM | END_HEADERS, 5, "\x82\x86\xbe", 3);
	give(&p, SIDE_REQUESTS, 4096);
	assert_true(has_told(&p.s, "#5 request GET <unknown path>; "));
	assert_int_equal(p.s.losses.no_path, 1);
	p.s.told.count = 0;
	/* a path that is kept, by its index, and what is the one before it from then on */
	put_frame(&p.out, HEADERS, END_STREAM | END_HEADERS, 7, "\x82\x86\x44\4/new", 8);
	put_frame(&p.out, HEADERS, END_STREAM | END_HEADERS, 9, "\x82\x86\xbe", 3);
	put_frame(&p.out, HEADERS, END_STREAM | END_HEADERS, 11, "\x82\x86\xbf", 3);
	put_frame(&p.out, HEADERS, END_STREAM | END_HEADERS, 13, "\x82\x86\xff\x3d", 4);
	give(&p, SIDE_REQUESTS, 4096);
	assert_true(has_told(&p.s, "#7 request GET /new; "));
	assert_true(has_told(&p.s, "#9 request GET /new; "));
	assert_true(has_told(&p.s, "#11 request GET <unknown path>; "));
	assert_true(has_told(&p.s, "#13 request GET <unknown path>; "));
	put_headers(&p, SIDE_ANSWERS, END_STREAM, 7, STATUS("204"));
	give(&p, SIDE_ANSWERS, 4096);
	assert_true(has_told(&p.s, "#7 answer 204; "));
	assert_int_equal(p.s.losses.strange + p.s.losses.unseen, 0);
	assert_int_equal(p.s.losses.no_path, 3);
	drop(&p);
}

/* Bodies that were not copied; a part of a block that was not, and what comes then. */
static void test_parts_need_not_be_there(void **state)
{
	static const uint8_t body[20];
	struct peers p = make();
	uint32_t size;

	(void)state;
	begin(&p);
	put_headers(&p, SIDE_REQUESTS, END_STREAM, 1, REQUEST("/a"));
	give(&p, SIDE_REQUESTS, 4096);
	p.s.told.count = 0;
	put_headers(&p, SIDE_ANSWERS, 0, 1, STATUS("200"));
	put_frame(&p.out, DATA, END_STREAM, 1, body, sizeof(body));
	size = (uint32_t)p.out.count;
	stream_give(&p.s, SIDE_ANSWERS, p.out.at, size - 15, size, NULL);
	p.out.count = 0;
	assert_true(has_told(&p.s, "#1 answered 20; #1 done; "));
	/* a block of which only a part is there */
	p.s.told.count = 0;
	size = (uint32_t)put_headers(&p, SIDE_REQUESTS, END_STREAM, 3, REQUEST("/lost"));
	stream_give(&p.s, SIDE_REQUESTS, p.out.at, size - 2, size, NULL);
	p.out.count = 0;
	assert_true(has_told(&p.s, "#3 request ? <unknown path>; "));
	assert_int_equal(p.s.losses.long_heads, 1);
	/* a piece that is missing, and then one that begins with a frame */
	stream_give(&p.s, SIDE_REQUESTS, "", 0, 30, NULL);
	assert_int_equal(p.s.losses.unseen, 1);
	put_headers(&p, SIDE_REQUESTS, END_STREAM, 5, REQUEST("/next"));
	give(&p, SIDE_REQUESTS, 4096);
	assert_true(has_told(&p.s, "#5 request GET /next; "));
	drop(&p);
}

static void test_other_frames(void **state)
{
	uint8_t block[512], padded[600] = {7, 0, 0, 0, 0, 16};
	struct peers p = make();
	size_t size;

	(void)state;
	begin(&p);
	/* padding, a priority, and a block in two frames */
	size = deflate(p.deflaters[SIDE_REQUESTS], block, sizeof(block), REQUEST("/padded"));
	memcpy(padded + 6, block, 3);
	put_frame(&p.out, HEADERS, END_STREAM | PADDED | PRIORITY, 1, padded, 6 + 3 + 7);
	put_frame(&p.out, CONTINUATION, END_HEADERS, 1, block + 3, size - 3);
	give(&p, SIDE_REQUESTS, 5);
	assert_true(has_told(&p.s, "#1 request GET /padded; "));
	p.s.told.count = 0;
	/*
	 * a promise has a block, too; 103 is not an answer yet; a stream that is reset has failed
	 */
	memcpy(padded, "\0\0\0\2", 4);
	size = deflate(p.deflaters[SIDE_ANSWERS], padded + 4, 500, REQUEST("/promised"));
	put_frame(&p.out, PUSH, END_HEADERS, 1, padded, size + 4);
	put_headers(&p, SIDE_ANSWERS, 0, 1, STATUS("103"));
	give(&p, SIDE_ANSWERS, 4096);
	assert_false(has_told(&p.s, "answer 103"));
	put_frame(&p.out, RST, 0, 1, "\0\0\0\2", 4);
	give(&p, SIDE_ANSWERS, 4096);
	assert_true(has_told(&p.s, "#1 failed; done; "));
	assert_int_equal(p.s.losses.strange + p.s.losses.unseen, 0);
	drop(&p);
}

static void test_nonsense(void **state)
{
	struct peers p = make();

	(void)state;
	begin(&p);
	/* blocks that are none, and a continuation of nothing */
	put_frame(&p.out, HEADERS, END_HEADERS, 1, "\xff\xff\xff\xff\xff\xff\xff", 7);
	put_frame(&p.out, CONTINUATION, END_HEADERS, 1, "\x82", 1);
	give(&p, SIDE_REQUESTS, 4096);
	assert_int_equal(p.s.losses.strange, 2);
	p.s.told.count = 0;
	put_headers(&p, SIDE_REQUESTS, END_STREAM, 3, REQUEST("/\x01\x1b[2J"));
	give(&p, SIDE_REQUESTS, 4096);
	assert_true(has_told(&p.s, "#3 request GET /??[2J; "));
	drop(&p);
}

static void test_who_sends(void **state)
{
	struct peers p = make();
	struct piece piece;

	(void)state;
	put_headers(&p, SIDE_REQUESTS, 0, 1, REQUEST("/a"));
	piece = (struct piece){p.out.at, (uint32_t)p.out.count, (uint32_t)p.out.count, NULL};
	assert_int_equal(protocol_http2.side_of(&piece), SIDE_REQUESTS);
	p.out.count = 0;
	put_frame(&p.out, SETTINGS, 1, 0, NULL, 0);
	piece = (struct piece){p.out.at, (uint32_t)p.out.count, (uint32_t)p.out.count, NULL};
	assert_int_equal(protocol_http2.side_of(&piece), SIDE_EITHER);
	put_headers(&p, SIDE_ANSWERS, 0, 1, STATUS("200"));
	piece = (struct piece){p.out.at, (uint32_t)p.out.count, (uint32_t)p.out.count, NULL};
	assert_int_equal(protocol_http2.side_of(&piece), SIDE_ANSWERS);
	drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_upgrade),
		cmocka_unit_test(test_streams_at_once),
		cmocka_unit_test(test_grpc),
		cmocka_unit_test(test_met_in_the_middle),
		cmocka_unit_test(test_parts_need_not_be_there),
		cmocka_unit_test(test_other_frames),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_who_sends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
