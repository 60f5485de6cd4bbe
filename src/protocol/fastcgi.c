// SPDX-License-Identifier: Apache-2.0
/*
 * FastCGI, in which web servers ask php-fpm and others. Both sides send records: a head of eight
 * bytes with the length of what follows. A request is one record that begins it, and streams of its
 * parameters and its body, each of which an empty record ends; its answer is a stream of what CGI
 * programs print, and one record that ends it. (FastCGI Specification 1.0; several requests at a
 * time on a connection, which it allows, are not sent: web servers and php-fpm have one.)
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "protocol/http_head.h"
#include "protocol/protocols.h"

#define KERNEL_FASTCGI 6 /* REQUESTS_FASTCGI */

enum record_type {
	BEGIN_REQUEST = 1,
	ABORT_REQUEST,
	END_REQUEST,
	PARAMS,
	STDIN,
	STDOUT,
	STDERR,
	DATA,
	GET_VALUES,
	GET_VALUES_RESULT,
	UNKNOWN_TYPE,
	TYPES,
};

enum {
	HEAD = 8,
	END_BODY = 8, /* status of the program, and of the protocol in its fifth byte */
	PROTOCOL_STATUS = 4,
	PROTOCOL_STATUS_MAX = 3,
	METHOD_MAX = 16,
};

static const enum side side_of_type[TYPES] = {
	[0] = SIDES,
	[BEGIN_REQUEST] = SIDE_REQUESTS,
	[ABORT_REQUEST] = SIDE_REQUESTS,
	[END_REQUEST] = SIDE_ANSWERS,
	[PARAMS] = SIDE_REQUESTS,
	[STDIN] = SIDE_REQUESTS,
	[STDOUT] = SIDE_ANSWERS,
	[STDERR] = SIDE_ANSWERS,
	[DATA] = SIDE_REQUESTS,
	[GET_VALUES] = SIDE_REQUESTS,
	[GET_VALUES_RESULT] = SIDE_ANSWERS,
	[UNKNOWN_TYPE] = SIDE_ANSWERS,
};

struct records {
	uint8_t head[HEAD];
	uint32_t head_size;
	uint32_t left, padding; /* bytes of the record at hand */
	uint8_t body[END_BODY]; /* of one that ends a request */
	uint32_t body_size;
	bool is_lost;	/* where a record begins is not known */
	uint64_t bytes; /* of the message, in this piece */
};

struct fastcgi {
	struct records sides[SIDES];
	uint8_t *params; /* what there is of them; freed once they are read */
	size_t params_size;
	bool are_cut;	   /* more of them is missing */
	bool has_begun;	   /* a request has, and was not reported yet */
	bool is_waiting;   /* a request was reported, and its answer has not ended */
	bool is_answering; /* it has begun */
	uint8_t id[2];	   /* of the request that began last */
};

struct reading {
	struct fastcgi *fastcgi;
	struct records *side;
	enum side number;
	const struct piece *piece;
	const struct protocol_sink *sink;
	uint32_t at;
};

static bool is_head(const uint8_t *data, enum side side)
{
	return data[0] == 1 && data[1] < TYPES && side_of_type[data[1]] == side && !data[7];
}

static enum side side_of(const struct piece *piece)
{
	if (piece->copied < HEAD)
		return SIDES;
	for (int side = 0; side < SIDES; side++)
		if (is_head(piece->data, (enum side)side))
			return (enum side)side;
	return SIDES;
}

/* -- parameters -------------------------------------------------------------------------------- */

struct text {
	const char *at;
	size_t size;
};

struct params {
	struct text method, target, script, query;
};

/* A length of one byte, or of four. */
static bool read_length(struct text *rest, size_t *length)
{
	const uint8_t *at = (const uint8_t *)rest->at;
	size_t size = rest->size && *at & 0x80 ? 4 : 1;

	if (rest->size < size)
		return false;
	*length = size == 1 ? *at
			    : (size_t)(*at & 0x7f) << 24 | (size_t)at[1] << 16 |
				      (size_t)at[2] << 8 | at[3];
	rest->at += size;
	rest->size -= size;
	return true;
}

/* Of a value that is cut, what is there. */
static struct text read_text(struct text *rest, size_t length)
{
	struct text text = {rest->at, length < rest->size ? length : rest->size};

	rest->at += text.size;
	rest->size -= text.size;
	return text;
}

/* "HTTP_X_REQUEST_ID" is the header "X-Request-Id". */
static void handle_header(struct protocol_request *request, const struct text *name,
			  const struct text *value)
{
	static const char prefix[] = "HTTP_";
	size_t skip = sizeof(prefix) - 1, size = name->size - skip;
	char header[32];

	if (name->size <= skip || size > sizeof(header) || memcmp(name->at, prefix, skip) != 0)
		return;
	for (size_t i = 0; i < size; i++)
		header[i] = (char)(name->at[skip + i] == '_' ? '-' : name->at[skip + i]);
	http_parse_id(request, header, size, value->at, value->size);
}

static void read_params(const struct fastcgi *fastcgi, struct params *params,
			struct protocol_request *request)
{
	const struct {
		const char *name;
		struct text *value;
	} known[] = {
		{"REQUEST_METHOD", &params->method},
		{"REQUEST_URI", &params->target},
		{"SCRIPT_NAME", &params->script},
		{"QUERY_STRING", &params->query},
	};
	struct text rest = {(const char *)fastcgi->params, fastcgi->params_size};
	size_t name_size, value_size;

	while (read_length(&rest, &name_size) && read_length(&rest, &value_size)) {
		struct text name = read_text(&rest, name_size);
		struct text value = read_text(&rest, value_size);

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (name.size == strlen(known[i].name) &&
			    !memcmp(name.at, known[i].name, name.size))
				*known[i].value = value;
		handle_header(request, &name, &value);
	}
}

/* A method as HTTP has it; "?": it is none. */
static void put_method(char method[METHOD_MAX + 1], const struct text *text)
{
	size_t size = text->size;

	for (size_t i = 0; i < size && size <= METHOD_MAX; i++)
		if (!isupper((unsigned char)text->at[i]))
			size = SIZE_MAX;
	if (!size || size > METHOD_MAX) {
		strcpy(method, "?");
		return;
	}
	memcpy(method, text->at, size);
	method[size] = 0;
}

static void emit_request(struct reading *r)
{
	struct fastcgi *fastcgi = r->fastcgi;
	struct protocol_request request = {0};
	struct params params = {0};
	char method[METHOD_MAX + 1];

	read_params(fastcgi, &params, &request);
	put_method(method, &params.method);
	if (!params.target.size)
		params.target = params.script;
	if (params.target.size) {
		http_put_target(&request, method, params.target.at, params.target.size,
				r->sink->keep_query);
	} else {
		http_put_target(&request, method, "<unknown path>", strlen("<unknown path>"),
				false);
		r->sink->losses->no_path++;
	}
	/* what it says is not compared: its headers have other names */
	request.says = 0;
	r->sink->losses->long_heads += fastcgi->are_cut;
	fastcgi->has_begun = false;
	fastcgi->is_waiting = true;
	free(fastcgi->params);
	fastcgi->params = NULL;
	fastcgi->params_size = 0;
	r->sink->request(r->sink->context, &request);
}

static void keep_params(struct fastcgi *fastcgi, const uint8_t *data, size_t copied, size_t size)
{
	uint8_t *params;

	if (fastcgi->are_cut || !size)
		return;
	if (copied > PROTOCOL_HEAD_MAX - fastcgi->params_size)
		copied = PROTOCOL_HEAD_MAX - fastcgi->params_size;
	params = copied ? realloc(fastcgi->params, fastcgi->params_size + copied) : NULL;
	fastcgi->are_cut = copied < size || !params;
	if (!params)
		return;
	memcpy(params + fastcgi->params_size, data, copied);
	fastcgi->params = params;
	fastcgi->params_size += copied;
}

/* -- answers ----------------------------------------------------------------------------------- */

/* The status that a CGI program prints in its head; without one it is 200. 0: not known. */
static uint32_t status_of(const char *data, size_t size)
{
	static const char name[] = "Status:";
	const char *end = data + size;

	while (data < end) {
		const char *line = data, *next = memchr(data, '\n', (size_t)(end - data));

		if (!next)
			return 0;
		data = next + 1;
		if (line == next || (*line == '\r' && line + 1 == next))
			return 200;
		if ((size_t)(next - line) <= strlen(name) ||
		    strncasecmp(line, name, strlen(name)) != 0)
			continue;
		line += strlen(name);
		while (line < next && *line == ' ')
			line++;
		if (next - line < 3 || !isdigit((unsigned char)line[0]) ||
		    !isdigit((unsigned char)line[1]) || !isdigit((unsigned char)line[2]))
			return 0;
		return (uint32_t)(line[0] - '0') * 100 + (uint32_t)(line[1] - '0') * 10 +
		       (uint32_t)(line[2] - '0');
	}
	return 0;
}

static void begin_answer(struct fastcgi *fastcgi, const struct protocol_sink *sink, uint32_t status)
{
	const struct protocol_answer answer = {.status = status, .failed = status >= 500};

	if (!fastcgi->is_waiting || fastcgi->is_answering)
		return;
	fastcgi->is_answering = true;
	sink->answer(sink->context, &answer);
}

static void end_answer(struct fastcgi *fastcgi, const struct protocol_sink *sink, bool sure)
{
	if (!fastcgi->is_answering)
		return;
	fastcgi->is_waiting = fastcgi->is_answering = false;
	sink->done(sink->context, sure);
}

/* Bytes of a message that goes on in the next piece, or has ended. */
static void emit_bytes(struct reading *r)
{
	struct fastcgi *fastcgi = r->fastcgi;

	if (r->number == SIDE_REQUESTS) {
		/* the beginning's are reported with the request */
		if (fastcgi->has_begun)
			return;
		if (fastcgi->is_waiting && r->side->bytes)
			r->sink->sent(r->sink->context, r->side->bytes);
	} else if (fastcgi->is_answering && r->side->bytes) {
		r->sink->answered(r->sink->context, r->side->bytes);
	}
	r->side->bytes = 0;
}

static void end_request(struct reading *r)
{
	struct fastcgi *fastcgi = r->fastcgi;

	begin_answer(fastcgi, r->sink, 0);
	if (fastcgi->is_answering && r->side->body[PROTOCOL_STATUS])
		r->sink->failed(r->sink->context);
	emit_bytes(r);
	end_answer(fastcgi, r->sink, true);
}

/* -- records ----------------------------------------------------------------------------------- */

static void lose(struct reading *r, bool strange)
{
	r->sink->losses->strange += strange;
	r->sink->losses->unseen += !strange && r->number == SIDE_REQUESTS;
	r->side->is_lost = true;
	r->side->left = r->side->padding = r->side->head_size = 0;
	/* what there is of its parameters says enough */
	if (r->fastcgi->has_begun && r->fastcgi->params_size && r->number == SIDE_REQUESTS)
		emit_request(r);
	r->fastcgi->has_begun &= r->number != SIDE_REQUESTS;
}

/* What was asked before is over, whether its end was seen or not. */
static void begin_request(struct reading *r)
{
	struct fastcgi *fastcgi = r->fastcgi;

	begin_answer(fastcgi, r->sink, 0);
	end_answer(fastcgi, r->sink, false);
	memset(&fastcgi->sides[SIDE_ANSWERS], 0, sizeof(fastcgi->sides[SIDE_ANSWERS]));
	memcpy(fastcgi->id, r->side->head + 2, sizeof(fastcgi->id));
	fastcgi->params_size = 0;
	fastcgi->are_cut = false;
	fastcgi->has_begun = true;
	r->side->bytes = HEAD;
}

static void begin_record(struct reading *r)
{
	struct records *side = r->side;
	const uint8_t *head = side->head;

	side->head_size = 0;
	if (!is_head(head, r->number)) {
		lose(r, true);
		return;
	}
	side->left = (uint32_t)head[4] << 8 | head[5];
	side->padding = head[6];
	side->body_size = 0;
	memset(side->body, 0, sizeof(side->body));
	if (head[1] == BEGIN_REQUEST)
		begin_request(r);
	if (head[1] == PARAMS && !side->left && r->fastcgi->has_begun)
		emit_request(r);
	if (head[1] == END_REQUEST && side->left != END_BODY)
		lose(r, true);
}

static void read_content(struct reading *r)
{
	struct records *side = r->side;
	uint32_t rest = r->piece->length - r->at, n = side->left < rest ? side->left : rest;
	uint32_t there = r->at < r->piece->copied ? r->piece->copied - r->at : 0;
	const uint8_t *data = r->piece->data + (there ? r->at : 0);

	if (there > n)
		there = n;
	switch (side->head[1]) {
	case PARAMS:
		if (r->fastcgi->has_begun)
			keep_params(r->fastcgi, data, there, n);
		break;
	case STDOUT:
		begin_answer(r->fastcgi, r->sink, status_of((const char *)data, there));
		break;
	case END_REQUEST:
		for (uint32_t i = 0; i < there; i++)
			side->body[side->body_size++] = data[i];
		break;
	default:
		break;
	}
	r->at += n;
	side->bytes += n;
	side->left -= n;
	if (!side->left && side->head[1] == END_REQUEST)
		end_request(r);
}

static void read_padding(struct reading *r)
{
	uint32_t rest = r->piece->length - r->at;
	uint32_t n = r->side->padding < rest ? r->side->padding : rest;

	r->at += n;
	r->side->bytes += n;
	r->side->padding -= n;
}

/*
 * Of a call that was not copied whole its last bytes are there: where just one more record has room
 * and ends like one that ends a request, it is that.
 */
static bool ends_by_tail(struct reading *r)
{
	const uint8_t *tail = r->piece->tail;

	if (!tail || r->number != SIDE_ANSWERS || r->side->head_size ||
	    r->piece->length - r->at != HEAD + END_BODY ||
	    tail[PROTOCOL_STATUS] > PROTOCOL_STATUS_MAX || tail[5] || tail[6] || tail[7])
		return false;
	memcpy(r->side->body, tail, END_BODY);
	r->side->bytes += HEAD + END_BODY;
	r->at = r->piece->length;
	end_request(r);
	return true;
}

static void read_head(struct reading *r)
{
	struct records *side = r->side;

	if (r->at >= r->piece->copied) {
		if (!ends_by_tail(r))
			lose(r, false);
		return;
	}
	side->head[side->head_size++] = r->piece->data[r->at++];
	side->bytes++;
	if (side->head_size == HEAD)
		begin_record(r);
}

/* A piece after one that could not be followed: a record begins with it, or none does. */
static bool find_place(struct reading *r)
{
	const struct piece *piece = r->piece;
	bool found = piece->copied >= HEAD && is_head(piece->data, r->number);

	if (r->number == SIDE_REQUESTS)
		found = found && piece->data[1] == BEGIN_REQUEST;
	else
		found = found && !memcmp(piece->data + 2, r->fastcgi->id, sizeof(r->fastcgi->id));
	r->side->is_lost = !found;
	return found;
}

static void ended(void *state, const struct protocol_sink *sink)
{
	end_answer(state, sink, false);
}

static void parse(void *state, enum side number, const struct piece *piece,
		  const struct protocol_sink *sink)
{
	struct fastcgi *fastcgi = state;
	struct reading r = {fastcgi, &fastcgi->sides[number], number, piece, sink, 0};

	if (r.side->is_lost && !find_place(&r)) {
		r.side->bytes += piece->length;
	} else {
		while (r.at < piece->length && !r.side->is_lost) {
			if (r.side->left)
				read_content(&r);
			else if (r.side->padding)
				read_padding(&r);
			else
				read_head(&r);
		}
		r.side->bytes += piece->length - r.at;
	}
	emit_bytes(&r);
}

static void free_params(void *state)
{
	free(((struct fastcgi *)state)->params);
}

const struct protocol protocol_fastcgi = {
	.id = FILM_PROTOCOL_FASTCGI,
	.kernel = KERNEL_FASTCGI,
	.size = sizeof(struct fastcgi),
	.side_of = side_of,
	.parse = parse,
	.ended = ended,
	.free = free_params,
};
