// SPDX-License-Identifier: Apache-2.0
/*
 * PostgreSQL's protocol 3 (the manual's chapter "Frontend/Backend Protocol"): messages of a letter,
 * a length and a body. A request is a simple query, or all up to a Sync: its answer ends with
 * ReadyForQuery. What is in rows need not be there: it is counted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "protocol/protocols.h"
#include "protocol/statements.h"
#include "protocol/waiting_answers.h"

#define KERNEL_POSTGRESQL 3 /* REQUESTS_POSTGRESQL */

enum {
	VERSION_3 = 0x00030000,
	SSL_REQUEST = 80877103,
	GSS_REQUEST = 80877104,
	CANCEL_REQUEST = 80877102,

	HEADER = 5,
	BODY_MAX = 2048,       /* what is looked at of a message */
	MESSAGE_MAX = 1 << 30, /* the server's own limit */
};

/* What an expected ReadyForQuery ends. */
enum {
	ENDS_REQUEST = 1,
};

struct message_side {
	uint8_t header[HEADER];
	uint32_t have; /* bytes of the header */
	uint64_t left; /* bytes of the body */
	uint8_t body[BODY_MAX];
	uint32_t kept;
	bool is_cut;  /* body holds a part */
	bool is_lost; /* where a message begins is not known */
	uint64_t bytes;
};

struct postgresql {
	struct message_side sides[SIDES];
	struct waiting_answers waiting;
	struct statements statements;
	bool has_begun;	   /* the client's first message was seen, or is past */
	bool asks_for_tls; /* the next answer is one letter */
	bool is_tunnel;
	bool in_batch; /* messages up to the next Sync are of a request that was reported */
	bool is_answering;
};

struct reading {
	struct postgresql *pg;
	struct message_side *side;
	enum side number;
	const struct piece *piece;
	const struct protocol_sink *sink;
	uint32_t at;
};

static uint32_t big_at(const uint8_t *data)
{
	return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

static enum side side_of(const struct piece *piece)
{
	if (!piece->copied)
		return SIDES;
	return memchr("\0QPB", *piece->data, 4) ? SIDE_REQUESTS : SIDES;
}

/* The next text of a body, up to its zero or to its end. */
static const char *next_text(const struct message_side *side, uint32_t *at, size_t *size)
{
	const uint8_t *from, *end;

	if (*at > side->kept)
		*at = side->kept;
	from = side->body + *at;
	end = memchr(from, 0, side->kept - *at);
	*size = end ? (size_t)(end - from) : side->kept - *at;
	*at += (uint32_t)*size + 1;
	return (const char *)from;
}

/* -- what the client says ---------------------------------------------------------------------- */

static void emit_request(struct reading *r, const char *sql)
{
	struct protocol_request request = {0};

	strcpy(request.endpoint, sql);
	r->sink->request(r->sink->context, &request);
}

static void handle_query(struct reading *r)
{
	char sql[PROTOCOL_ENDPOINT_MAX];
	uint32_t at = 0;
	size_t size;
	const char *text = next_text(r->side, &at, &size);

	protocol_put_sql(sql, sizeof(sql), text, size);
	emit_request(r, sql);
	waiting_answers_add(&r->pg->waiting, ENDS_REQUEST);
}

static void handle_parse(struct reading *r)
{
	char sql[PROTOCOL_ENDPOINT_MAX];
	uint32_t at = 0;
	size_t name_size, size;
	const char *name = next_text(r->side, &at, &name_size);
	const char *text = next_text(r->side, &at, &size);

	protocol_put_sql(sql, sizeof(sql), text, size);
	statements_keep(&r->pg->statements, hash_bytes(name, name_size), sql);
	if (!r->pg->in_batch)
		emit_request(r, sql);
	r->pg->in_batch = true;
}

static void handle_bind(struct reading *r)
{
	uint32_t at = 0;
	size_t size;
	const char *name;

	if (r->pg->in_batch)
		return;
	next_text(r->side, &at, &size);
	name = next_text(r->side, &at, &size);
	emit_request(r, statements_find(&r->pg->statements, hash_bytes(name, size)));
	r->pg->in_batch = true;
}

static void handle_client_message(struct reading *r)
{
	struct postgresql *pg = r->pg;

	switch (*r->side->header) {
	case 'Q':
		handle_query(r);
		break;
	case 'P':
		handle_parse(r);
		break;
	case 'B':
		handle_bind(r);
		break;
	case 'S':
		waiting_answers_add(&pg->waiting, pg->in_batch ? ENDS_REQUEST : 0);
		pg->in_batch = false;
		break;
	}
	r->sink->sent(r->sink->context, r->side->bytes);
}

/* The first message has no letter: a length, and a version. */
static void handle_first(struct reading *r)
{
	uint32_t version = r->side->kept >= 4 ? big_at(r->side->body) : 0;

	if (version == SSL_REQUEST || version == GSS_REQUEST) {
		r->pg->asks_for_tls = true;
		return;
	}
	r->pg->has_begun = true;
	/* the server says when it is ready, without being asked */
	if (version == VERSION_3)
		waiting_answers_add(&r->pg->waiting, 0);
	else if (version != CANCEL_REQUEST)
		r->sink->losses->strange++;
}

/* -- what the server says ---------------------------------------------------------------------- */

static void begin_answer(struct reading *r)
{
	static const struct protocol_answer answer;
	struct postgresql *pg = r->pg;

	/* what it says of itself, at any time */
	if (pg->is_answering || strchr("NAS", *r->side->header) ||
	    (!(waiting_answers_first(&pg->waiting) & ENDS_REQUEST) && !pg->in_batch))
		return;
	/* what was asked before has its end first */
	if (pg->waiting.count && !(waiting_answers_first(&pg->waiting) & ENDS_REQUEST))
		return;
	pg->is_answering = true;
	r->sink->answer(r->sink->context, &answer);
}

static void end_answer(struct postgresql *pg, const struct protocol_sink *sink, bool sure)
{
	waiting_answers_pop(&pg->waiting);
	if (pg->is_answering)
		sink->done(sink->context, sure);
	pg->is_answering = false;
}

static void handle_server_message(struct reading *r)
{
	struct postgresql *pg = r->pg;

	if (pg->is_answering)
		r->sink->answered(r->sink->context, r->side->bytes);
	if (*r->side->header == 'E' && pg->is_answering)
		r->sink->failed(r->sink->context);
	if (*r->side->header == 'Z')
		end_answer(pg, r->sink, true);
}

/* -- messages ---------------------------------------------------------------------------------- */

static void end_message(struct reading *r)
{
	struct message_side *side = r->side;

	if (r->number == SIDE_ANSWERS)
		handle_server_message(r);
	else if (!r->pg->has_begun)
		handle_first(r);
	else
		handle_client_message(r);
	side->have = side->kept = 0;
	side->is_cut = false;
	side->bytes = 0;
}

static void lose(struct reading *r, bool strange)
{
	r->sink->losses->strange += strange;
	r->sink->losses->unseen += !strange && r->number == SIDE_REQUESTS;
	r->side->is_lost = true;
	r->side->have = r->side->kept = 0;
	r->side->left = 0;
}

/* The header is whole. */
static void begin_body(struct reading *r)
{
	struct message_side *side = r->side;
	uint32_t size = big_at(side->header + 1);

	if (size < 4 || size > MESSAGE_MAX) {
		lose(r, true);
		return;
	}
	side->left = size - 4;
	if (r->number == SIDE_ANSWERS)
		begin_answer(r);
	if (!side->left)
		end_message(r);
}

static void read_header(struct reading *r)
{
	struct message_side *side = r->side;

	/* the length of the first message stands where the letter of others does */
	if (!side->have && r->number == SIDE_REQUESTS && !r->pg->has_begun)
		side->header[side->have++] = 0;
	side->header[side->have++] = r->piece->data[r->at++];
	side->bytes++;
	if (side->have == HEADER)
		begin_body(r);
}

static void read_body(struct reading *r)
{
	struct message_side *side = r->side;
	uint64_t rest = r->piece->length - r->at, n = side->left < rest ? side->left : rest;
	uint64_t here = r->at < r->piece->copied ? r->piece->copied - r->at : 0;
	uint64_t keep = n < here ? n : here;

	if (keep > BODY_MAX - side->kept)
		keep = BODY_MAX - side->kept;
	if (!side->is_cut)
		memcpy(side->body + side->kept, r->piece->data + (keep ? r->at : 0), keep);
	if (!side->is_cut)
		side->kept += (uint32_t)keep;
	side->is_cut |= keep < n;
	side->left -= n;
	side->bytes += n;
	r->at += (uint32_t)n;
	if (!side->left)
		end_message(r);
}

/* The letter with which the server says whether it will speak TLS. */
static void read_letter(struct reading *r)
{
	char letter = (char)r->piece->data[r->at++];

	r->pg->asks_for_tls = false;
	r->pg->is_tunnel = letter == 'S' || letter == 'G';
}

/* "ready for query", idle, in a transaction or in one that failed. */
static bool ends_answer(const struct piece *piece)
{
	const uint8_t *end = piece->copied == piece->length && piece->copied >= 6
				     ? piece->data + piece->copied
				     : NULL;

	if (piece->copied < piece->length && piece->tail)
		end = piece->tail + PIECE_TAIL;
	return end && !memcmp(end - 6, "Z\0\0\0\5", 5) && strchr("ITE", end[-1]);
}

/* A client's piece after one with a message that could not be followed: one may begin with it. */
static void find_place(struct reading *r)
{
	if (r->number == SIDE_REQUESTS && r->piece->copied && *r->piece->data &&
	    strchr("QPBS", *r->piece->data))
		r->side->is_lost = false;
}

static void parse(void *state, enum side number, const struct piece *piece,
		  const struct protocol_sink *sink)
{
	struct postgresql *pg = state;
	struct reading r = {pg, &pg->sides[number], number, piece, sink, 0};

	if (pg->is_tunnel)
		return;
	/* a client that is met in the middle */
	if (number == SIDE_REQUESTS && !pg->has_begun && !r.side->have && piece->copied &&
	    *piece->data)
		pg->has_begun = true;
	if (r.side->is_lost)
		find_place(&r);
	while (r.at < piece->length && !r.side->is_lost) {
		if (r.side->left)
			read_body(&r);
		else if (r.at >= piece->copied)
			lose(&r, false);
		else if (number == SIDE_ANSWERS && pg->asks_for_tls)
			read_letter(&r);
		else
			read_header(&r);
	}
	if (!r.side->is_lost || number != SIDE_ANSWERS)
		return;
	if (pg->is_answering)
		sink->answered(sink->context, r.side->bytes + piece->length - r.at);
	r.side->bytes = 0;
	if (ends_answer(piece)) {
		end_answer(pg, sink, true);
		r.side->is_lost = false;
	}
}

static void free_postgresql(void *state)
{
	struct postgresql *pg = state;

	statements_free(&pg->statements);
}

const struct protocol protocol_postgresql = {
	.id = FILM_PROTOCOL_POSTGRESQL,
	.kernel = KERNEL_POSTGRESQL,
	.size = sizeof(struct postgresql),
	.side_of = side_of,
	.parse = parse,
	.free = free_postgresql,
};
