// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/1.0 and 1.1: heads, and bodies as far as to know where the next head is. Bytes of a body
 * need not be there: they are counted. Where a message's end is not known any more, the next piece
 * that begins with a head begins a message.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol/http_head.h"
#include "protocol/protocols.h"
#include "protocol/waiting_answers.h"

#define KERNEL_HTTP 1 /* REQUESTS_HTTP */

enum where {
	AT_HEAD,
	IN_COUNTED,
	IN_CHUNK_SIZE, /* in the line before a chunk, or between trailers */
	IN_CHUNK,      /* and the line's end behind it */
	IN_TRAILER,
	UNTIL_HEAD, /* the message's end is not known: until a piece begins with a head */
	UNTIL_TAIL, /* the same, of chunks: until a piece ends with the last one */
	IN_TUNNEL,  /* it is not HTTP any more */
};

struct http_side {
	enum where where;
	uint64_t left; /* bytes: of a body, of a chunk */
	uint32_t digits;
	bool in_message; /* a head was reported, and its end was not */
	uint8_t *head;	 /* that came in several pieces */
	size_t head_size;
};

struct http {
	struct http_side sides[SIDES];
	struct waiting_answers waiting; /* HAS_NO_BODY, IS_CONNECT */
	void *http2; /* it has gone over to HTTP/2: the state of that; null: it has not */
};

/* A piece that is being read. */
struct reading {
	struct http *http;
	struct http_side *side;
	enum side number;
	const struct piece *piece;
	const struct protocol_sink *sink;
	uint32_t at; /* bytes of length that were gone through */
};

static enum side side_of(const struct piece *piece)
{
	bool is_request;

	if (!http_begins(piece->data, piece->copied, &is_request))
		return SIDES;
	return is_request ? SIDE_REQUESTS : SIDE_ANSWERS;
}

static void count(const struct reading *r, uint64_t bytes)
{
	if (!bytes)
		return;
	if (r->number == SIDE_REQUESTS)
		r->sink->sent(r->sink->context, bytes);
	else
		r->sink->answered(r->sink->context, bytes);
}

static void end_message(const struct reading *r, bool sure)
{
	if (r->side->in_message && r->number == SIDE_ANSWERS)
		r->sink->done(r->sink->context, sure);
	r->side->in_message = false;
}

static void forget_head(struct http_side *side)
{
	free(side->head);
	side->head = NULL;
	side->head_size = 0;
}

/* -- heads ------------------------------------------------------------------------------------- */

/* What the answer to a request has. */
enum {
	HAS_NO_BODY = 1,
	IS_CONNECT = 2,
};

static void go_into_body(struct reading *r, const struct http_head *head)
{
	struct http_side *side = r->side;

	side->left = head->count;
	side->digits = 0;
	switch (head->length) {
	case HTTP_CHUNKED:
		side->where = IN_CHUNK_SIZE;
		return;
	case HTTP_UNTIL_CLOSE:
		side->where = UNTIL_HEAD;
		return;
	case HTTP_COUNTED:
		side->where = IN_COUNTED;
		if (side->left)
			return;
		break;
	case HTTP_NONE:
		break;
	}
	side->where = AT_HEAD;
	end_message(r, true);
}

/* The answer at hand, of which the end is not known, ends before what was asked next. */
static void end_answer(struct http *http, const struct protocol_sink *sink)
{
	struct http_side *answers = &http->sides[SIDE_ANSWERS];

	if (!answers->in_message || answers->where < UNTIL_HEAD)
		return;
	answers->in_message = false;
	sink->done(sink->context, false);
}

static void begin_request(struct reading *r, const struct http_head *head, bool complete)
{
	if (!r->http->waiting.count)
		end_answer(r->http, r->sink);
	r->side->in_message = true;
	waiting_answers_add(&r->http->waiting, (uint8_t)((head->is_head ? HAS_NO_BODY : 0) |
							 (head->is_connect ? IS_CONNECT : 0)));
	r->sink->request(r->sink->context, &head->request);
	if (complete)
		go_into_body(r, head);
	else
		r->side->where = UNTIL_HEAD;
}

/* The request that asked for it has its answer in the first stream. False: no memory. */
static bool go_over(struct reading *r)
{
	struct http *http = r->http;

	if (http->http2)
		return false;
	http->http2 = http2_of_upgrade();
	if (!http->http2)
		return false;
	r->sink->upgraded(r->sink->context, HTTP2_UPGRADED);
	r->side->where = http->sides[SIDE_REQUESTS].where = IN_TUNNEL;
	return true;
}

/* What is left to read of a piece. */
static void read_tunnel(const struct reading *r)
{
	struct piece rest = *r->piece;

	if (!r->http->http2)
		return;
	rest.length -= r->at;
	rest.data += rest.copied < r->at ? rest.copied : r->at;
	rest.copied -= rest.copied < r->at ? rest.copied : r->at;
	protocol_http2.parse(r->http->http2, r->number, &rest, r->sink);
}

static void handle_answer(struct reading *r, struct http_head *head, bool complete)
{
	const struct protocol_answer answer = {.status = head->status,
					       .failed = head->status >= 500};
	uint8_t waiting;

	/* others follow it; 101 is the last one of HTTP */
	if (head->status < 200 && head->status != 101)
		return;
	waiting = waiting_answers_pop(&r->http->waiting);
	if (head->status == 101 && head->is_h2c && go_over(r))
		return;
	r->side->in_message = true;
	r->sink->answer(r->sink->context, &answer);
	if (head->status == 101 || (waiting & IS_CONNECT && head->status < 300)) {
		r->side->where = r->http->sides[SIDE_REQUESTS].where = IN_TUNNEL;
		end_message(r, true);
		return;
	}
	if (waiting & HAS_NO_BODY || head->status == 204 || head->status == 304)
		head->length = HTTP_NONE;
	if (complete || head->length != HTTP_UNTIL_CLOSE)
		go_into_body(r, head);
	else
		r->side->where = UNTIL_HEAD;
}

/* A head of which no more will come. */
static void handle_head(struct reading *r, const uint8_t *data, size_t size, bool complete)
{
	struct http_head head;

	if (!http_head_read(data, size, r->sink->keep_query, &head) ||
	    head.is_request != (r->number == SIDE_REQUESTS)) {
		r->sink->losses->strange++;
		r->side->where = UNTIL_HEAD;
		r->side->in_message = false;
		return;
	}
	r->sink->losses->long_heads += !complete;
	if (head.is_request)
		begin_request(r, &head, complete);
	else
		handle_answer(r, &head, complete);
}

/* Adds to a head that came in several pieces. False: it is too long, or there is no memory. */
static bool keep_head(struct http_side *side, const uint8_t *data, size_t size)
{
	uint8_t *head;

	if (side->head_size + size > PROTOCOL_HEAD_MAX)
		return false;
	head = realloc(side->head, side->head_size + size + 1);
	if (!head)
		return false;
	memcpy(head + side->head_size, data, size);
	side->head = head;
	side->head_size += size;
	return true;
}

/* A head begins, or goes on, at r->at, which was copied. */
static void read_head(struct reading *r)
{
	struct http_side *side = r->side;
	const uint8_t *data = r->piece->data + r->at;
	size_t size = r->piece->copied - r->at, had = side->head_size, end;
	bool is_request, is_cut = r->piece->copied < r->piece->length;

	/* blank lines before a message do no harm (RFC 9112, 2.2) */
	if (!had && size && (*data == '\r' || *data == '\n')) {
		r->at++;
		return;
	}
	if (!had && !http_begins(data, size, &is_request) && (size >= 8 || is_cut)) {
		r->sink->losses->strange++;
		side->where = UNTIL_HEAD;
		return;
	}
	if (had && !keep_head(side, data, size)) {
		is_cut = true;
	} else if (had) {
		data = side->head;
		size = side->head_size;
	}
	end = http_head_end(data, size);
	if (!end && !is_cut && (had || keep_head(side, data, size))) {
		r->at = r->piece->length;
		return;
	}
	if (!end && had) {
		data = side->head;
		size = side->head_size;
	}
	handle_head(r, data, end ? end : size, end);
	/* how much of this piece was the head */
	end = end ? end - had : r->piece->copied - r->at;
	if (side->where != UNTIL_HEAD || r->side->in_message)
		count(r, had + end);
	r->at += (uint32_t)end;
	forget_head(side);
}

/* -- bodies ------------------------------------------------------------------------------------ */

/* Goes on by that many bytes of a body, at most to the piece's end. */
static void skip(struct reading *r, uint64_t bytes)
{
	uint64_t rest = r->piece->length - r->at;
	uint32_t n = (uint32_t)(bytes < rest ? bytes : rest);

	r->at += n;
	if (r->side->in_message)
		count(r, n);
}

static void read_counted(struct reading *r)
{
	uint32_t before = r->at;

	skip(r, r->side->left);
	r->side->left -= r->at - before;
	if (r->side->left)
		return;
	r->side->where = AT_HEAD;
	end_message(r, true);
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The line before a chunk: its size in hexadecimal digits, and maybe more. */
static void read_chunk_size(struct reading *r)
{
	struct http_side *side = r->side;
	uint8_t c = r->piece->data[r->at];
	int digit = hex_digit(c);

	skip(r, 1);
	if (c == '\n') {
		/* a line's end behind a chunk has no digits */
		if (!side->digits)
			return;
		side->where = side->left ? IN_CHUNK : IN_TRAILER;
		side->digits = 0;
	} else if (digit >= 0 && side->digits < 16) {
		side->left = side->left << 4 | (uint64_t)digit;
		side->digits++;
	} else if (digit < 0 && side->digits && side->digits < 32) {
		side->digits = 32; /* an extension: up to the line's end */
	}
}

/* Lines behind the last chunk, up to an empty one. left: bytes of the line at hand. */
static void read_trailer(struct reading *r)
{
	struct http_side *side = r->side;
	uint8_t c = r->piece->data[r->at];

	skip(r, 1);
	if (c == '\n' && !side->left) {
		side->where = AT_HEAD;
		end_message(r, true);
	} else if (c == '\n') {
		side->left = 0;
	} else if (c != '\r') {
		side->left++;
	}
}

static void read_chunk(struct reading *r)
{
	uint32_t before = r->at;

	skip(r, r->side->left);
	r->side->left -= r->at - before;
	if (!r->side->left)
		r->side->where = IN_CHUNK_SIZE;
}

/* A part that must be read was not copied. */
static void lose_place(struct reading *r)
{
	switch (r->side->where) {
	case IN_CHUNK_SIZE:
	case IN_TRAILER:
		r->side->where = UNTIL_TAIL;
		return;
	default:
		r->sink->losses->unseen++;
		r->side->where = UNTIL_HEAD;
		forget_head(r->side);
	}
}

static bool ends_chunks(const struct piece *piece)
{
	static const char last[] = "0\r\n\r\n";
	const uint8_t *tail = piece->tail;
	size_t size = sizeof(last) - 1;

	if (piece->copied == piece->length)
		tail = piece->copied >= size ? piece->data + piece->copied - size : NULL;
	else if (tail)
		tail += PIECE_TAIL - size;
	return tail && !memcmp(tail, last, size);
}

/* The rest of a piece belongs to a message whose end is not known. */
static void read_until(struct reading *r)
{
	bool is_request;
	const struct piece *piece = r->piece;

	if (!r->at && http_begins(piece->data, piece->copied, &is_request) &&
	    is_request == (r->number == SIDE_REQUESTS)) {
		end_message(r, false);
		r->side->where = AT_HEAD;
		return;
	}
	skip(r, piece->length);
	if (r->side->where == UNTIL_TAIL && ends_chunks(piece)) {
		r->side->where = AT_HEAD;
		end_message(r, true);
	}
}

static bool needs_bytes(enum where where)
{
	return where == AT_HEAD || where == IN_CHUNK_SIZE || where == IN_TRAILER;
}

static void parse(void *state, enum side number, const struct piece *piece,
		  const struct protocol_sink *sink)
{
	struct http *http = state;
	struct reading r = {http, &http->sides[number], number, piece, sink, 0};

	while (r.at < piece->length) {
		if (needs_bytes(r.side->where) && r.at >= piece->copied)
			lose_place(&r);
		switch (r.side->where) {
		case AT_HEAD:
			read_head(&r);
			break;
		case IN_COUNTED:
			read_counted(&r);
			break;
		case IN_CHUNK_SIZE:
			read_chunk_size(&r);
			break;
		case IN_CHUNK:
			read_chunk(&r);
			break;
		case IN_TRAILER:
			read_trailer(&r);
			break;
		case UNTIL_HEAD:
		case UNTIL_TAIL:
			read_until(&r);
			break;
		case IN_TUNNEL:
			read_tunnel(&r);
			return;
		}
	}
}

static void ended(void *state, const struct protocol_sink *sink)
{
	end_answer(state, sink);
}

static void free_http(void *state)
{
	struct http *http = state;

	for (int side = 0; side < SIDES; side++)
		forget_head(&http->sides[side]);
	if (http->http2)
		protocol_http2.free(http->http2);
	free(http->http2);
}

const struct protocol protocol_http1 = {
	.id = FILM_PROTOCOL_HTTP,
	.kernel = KERNEL_HTTP,
	.size = sizeof(struct http),
	.side_of = side_of,
	.parse = parse,
	.ended = ended,
	.free = free_http,
};
