// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/2 (RFC 9113), and gRPC in it: frames of a length, a type, flags and a stream. A stream is a
 * request and its answer; many of a connection go on at once. Bodies need not be there: they are
 * counted. Where a frame begins is not known any more when a part of its head is missing: then the
 * next piece that begins with something that is a frame begins one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "protocol/hpack.h"
#include "protocol/http2_frames.h"
#include "protocol/http_head.h"
#include "protocol/protocols.h"

#define KERNEL_HTTP2 4 /* REQUESTS_HTTP2 */

enum {
	HEADER = HTTP2_HEADER,
	PREFACE = 24,
	BLOCK_MAX = 64 << 10, /* bytes of a block of headers */
	STREAMS_MAX = 512,    /* of a connection, at once */
};

static const char preface[PREFACE + 1] = HTTP2_PREFACE;

struct frame_side {
	uint8_t header[HEADER];
	uint32_t have, left; /* bytes of the header, and those of the payload still to come */
	uint32_t stream;
	uint8_t type, flags;
	/* payload of frames that are read, those of a block of headers one behind the other */
	uint8_t *block;
	uint32_t kept, room;
	uint8_t first, of_flags; /* type and flags of the frame that has begun the block */
	bool in_block;		 /* it goes on in other frames */
	bool is_cut;		 /* a part of the block is not there */
	bool in_place;		 /* where frames begin is known */
	bool needs_middle;	 /* some of its blocks were not seen */
	uint32_t preface_left;
	uint64_t bytes; /* of the block's frames */
	struct hpack *hpack;
};

struct stream {
	uint32_t id;
	bool is_answered, is_grpc;
};

struct http2 {
	struct frame_side sides[SIDES];
	vec(struct stream) streams;
	bool from_beginning;
};

struct reading {
	struct http2 *http;
	struct frame_side *side;
	enum side number;
	const struct piece *piece;
	const struct protocol_sink *sink;
	uint32_t at;
};

/* -- streams ----------------------------------------------------------------------------------- */

static struct stream *find(struct http2 *http, uint32_t id)
{
	vec_foreach (&http->streams, stream)
		if (stream->id == id)
			return stream;
	return NULL;
}

static void forget(struct http2 *http, struct stream *stream)
{
	*stream = *vec_last(&http->streams);
	http->streams.count--;
}

static void count(const struct reading *r, uint32_t id, uint64_t bytes)
{
	if (!bytes || !find(r->http, id))
		return;
	r->sink->stream(r->sink->context, id);
	if (r->number == SIDE_REQUESTS)
		r->sink->sent(r->sink->context, bytes);
	else
		r->sink->answered(r->sink->context, bytes);
}

/* One side has said all: with the answer's end, the request is over. */
static void end_stream(const struct reading *r, uint32_t id)
{
	struct stream *stream = find(r->http, id);

	if (!stream || r->number != SIDE_ANSWERS)
		return;
	r->sink->stream(r->sink->context, id);
	r->sink->done(r->sink->context, true);
	forget(r->http, stream);
}

static void reset(const struct reading *r, uint32_t id, uint32_t code)
{
	struct stream *stream = find(r->http, id);

	if (!stream)
		return;
	r->sink->stream(r->sink->context, id);
	if (code)
		r->sink->failed(r->sink->context);
	r->sink->done(r->sink->context, true);
	forget(r->http, stream);
}

/* More are open than any server allows: ends of some were not seen. */
static void drop_oldest(const struct reading *r)
{
	struct stream *oldest = r->http->streams.at;

	vec_foreach (&r->http->streams, stream)
		if (stream->id < oldest->id)
			oldest = stream;
	r->sink->stream(r->sink->context, oldest->id);
	r->sink->done(r->sink->context, false);
	forget(r->http, oldest);
}

/* -- blocks of headers ------------------------------------------------------------------------- */

#define METHOD_MAX 32
#define TARGET_MAX 1024

struct fields {
	struct protocol_request request; /* its id */
	char method[METHOD_MAX], target[TARGET_MAX];
	size_t target_size;
	bool has_target, is_grpc, has_grpc_status;
	uint32_t status, grpc_status;
};

static bool is_named(const char *name, size_t size, const char *what)
{
	return size == strlen(what) && !memcmp(name, what, size);
}

/* At most that many digits; false: not a number. */
static bool read_number(const char *text, size_t size, size_t digits, uint32_t *number)
{
	if (!size || size > digits)
		return false;
	*number = 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*number = *number * 10 + (uint32_t)(text[i] - '0');
	}
	return true;
}

static void handle_field(void *context, const char *name, size_t name_size, const char *value,
			 size_t value_size)
{
	struct fields *fields = context;

	if (is_named(name, name_size, ":method")) {
		protocol_put_text(fields->method, sizeof(fields->method), value, value_size);
	} else if (is_named(name, name_size, ":path")) {
		fields->has_target = true;
		fields->target_size = value_size < TARGET_MAX ? value_size : TARGET_MAX;
		memcpy(fields->target, value, fields->target_size);
	} else if (is_named(name, name_size, ":status")) {
		if (!read_number(value, value_size, 3, &fields->status))
			fields->status = 0;
	} else if (is_named(name, name_size, "grpc-status")) {
		fields->has_grpc_status = read_number(value, value_size, 4, &fields->grpc_status);
	} else if (is_named(name, name_size, "content-type")) {
		fields->is_grpc = value_size >= 16 && !memcmp(value, "application/grpc", 16);
	} else {
		http_parse_id(&fields->request, name, name_size, value, value_size);
	}
	http_say_header(&fields->request, name, name_size, value, value_size);
}

static void begin_request(struct reading *r, struct fields *fields, uint32_t id)
{
	struct stream stream = {.id = id, .is_grpc = fields->is_grpc};
	struct protocol_request *request = &fields->request;

	/* trailers */
	if (find(r->http, id))
		return;
	if (r->http->streams.count >= STREAMS_MAX)
		drop_oldest(r);
	if (!vec_push(&r->http->streams, stream)) {
		r->sink->losses->unseen++;
		return;
	}
	request->protocol = fields->is_grpc ? FILM_PROTOCOL_GRPC : 0;
	if (!*fields->method)
		strcpy(fields->method, fields->is_grpc ? "POST" : "?");
	if (fields->has_target) {
		http_put_target(request, fields->method, fields->target, fields->target_size,
				r->sink->keep_query);
	} else {
		r->sink->losses->no_path++;
		request->says = 0;
		strcpy(request->path, "<unknown path>");
		snprintf(request->endpoint, sizeof(request->endpoint), "%s <unknown path>",
			 fields->method);
	}
	r->sink->stream(r->sink->context, id);
	r->sink->request(r->sink->context, request);
}

/* The numbers of gRPC's states go with the answer's last headers, which may be its first. */
static void handle_grpc_status(const struct reading *r, const struct fields *fields)
{
	if (!fields->has_grpc_status)
		return;
	r->sink->status(r->sink->context, fields->grpc_status, FILM_PROTOCOL_GRPC);
	if (fields->grpc_status)
		r->sink->failed(r->sink->context);
}

static void begin_answer(struct reading *r, const struct fields *fields, uint32_t id)
{
	struct stream *stream = find(r->http, id);
	bool is_grpc = fields->is_grpc || (stream && stream->is_grpc);
	const struct protocol_answer answer = {.status = is_grpc ? 0 : fields->status,
					       .failed = fields->status >= 500 ||
							 (is_grpc && fields->status != 200),
					       .protocol = is_grpc ? FILM_PROTOCOL_GRPC : 0};

	r->sink->stream(r->sink->context, id);
	if (!stream || !stream->is_answered) {
		/*
		 * others follow it; or it is the end of what was asked before; 0: what it says is
		 * not known
		 */
		if (fields->status < 200 && (fields->status || !stream))
			return;
		r->sink->answer(r->sink->context, &answer);
	}
	if (!stream)
		return;
	stream->is_answered = true;
	stream->is_grpc = is_grpc;
	handle_grpc_status(r, fields);
}

static void lose_block(struct frame_side *side)
{
	hpack_free(side->hpack);
	side->hpack = NULL;
	side->needs_middle = true;
}

/* The block is whole, or the part that there is. */
static void handle_block(struct reading *r)
{
	struct frame_side *side = r->side;
	const uint8_t *data = side->block;
	uint32_t size = side->kept;
	struct fields fields = {0};
	bool known;

	if (!side->hpack)
		side->hpack = hpack_new(side->needs_middle || !r->http->from_beginning);
	known = side->hpack && !side->is_cut && size &&
		hpack_read(side->hpack, data, size, handle_field, &fields);
	if (!known) {
		r->sink->losses->strange += !side->is_cut;
		r->sink->losses->long_heads += side->is_cut;
		lose_block(side);
	}
	if (side->first == PUSH_PROMISE)
		return;
	/* of one that could not be read, it is still known that it is a request */
	if (r->number == SIDE_REQUESTS)
		begin_request(r, &fields, side->stream);
	else
		begin_answer(r, &fields, side->stream);
	count(r, side->stream, side->bytes);
	if (side->of_flags & END_STREAM)
		end_stream(r, side->stream);
}

/* -- frames ------------------------------------------------------------------------------------ */

static bool is_kept(uint8_t type)
{
	return type == HEADERS || type == PUSH_PROMISE || type == CONTINUATION ||
	       type == RST_STREAM;
}

static void drop_block(struct frame_side *side)
{
	free(side->block);
	side->block = NULL;
	side->kept = side->room = 0;
	side->bytes = 0;
	side->is_cut = side->in_block = false;
}

/* What stands in a block's first frame before the block, and behind it: RFC 9113, 6.2 and 6.6. */
static void trim_first(struct frame_side *side)
{
	uint32_t skip = side->first == PUSH_PROMISE ? 4 : 0, pad = 0;

	if (side->of_flags & PADDED && side->kept)
		pad = *side->block, skip++;
	if (side->first == HEADERS && side->of_flags & HAS_PRIORITY)
		skip += 5;
	if (skip + pad > side->kept) {
		side->is_cut = true;
		return;
	}
	side->kept -= skip + pad;
	if (side->kept)
		memmove(side->block, side->block + skip, side->kept);
}

/* The frame is over. */
static void end_frame(struct reading *r)
{
	struct frame_side *side = r->side;

	side->have = 0;
	if (side->type == DATA && side->flags & END_STREAM)
		end_stream(r, side->stream);
	if (side->type == RST_STREAM) {
		reset(r, side->stream, side->kept >= 4 ? http2_big_at(side->block) : 1);
	} else if (is_kept(side->type)) {
		if (side->type != CONTINUATION)
			trim_first(side);
		side->in_block = !(side->flags & END_HEADERS);
		if (side->in_block)
			return;
		handle_block(r);
	}
	drop_block(side);
}

static void lose(struct reading *r, bool strange)
{
	struct frame_side *side = r->side;

	r->sink->losses->strange += strange;
	r->sink->losses->unseen += !strange;
	side->in_place = false;
	side->have = side->left = side->preface_left = 0;
	drop_block(side);
	lose_block(side);
}

/* Padding is behind the block of its own frame, where others may follow. */
static void begin_block(struct frame_side *side)
{
	drop_block(side);
	side->first = side->type;
	side->of_flags = side->flags;
}

static void begin_payload(struct reading *r)
{
	struct frame_side *side = r->side;
	uint32_t stream = http2_big_at(side->header + 5) & 0x7fffffff;

	side->left = http2_big_at(side->header) >> 8;
	side->type = side->header[3];
	side->flags = side->header[4];
	if (side->type < TYPES && !http2_is_header(side->header)) {
		lose(r, true);
		return;
	}
	if (side->type == CONTINUATION && (!side->in_block || stream != side->stream)) {
		lose(r, true);
		return;
	}
	if (side->type != CONTINUATION)
		begin_block(side);
	side->stream = stream;
	side->bytes += HEADER;
	if (side->type == DATA)
		count(r, stream, HEADER);
	if (!side->left)
		end_frame(r);
}

static void read_header(struct reading *r)
{
	struct frame_side *side = r->side;

	side->header[side->have++] = r->piece->data[r->at++];
	if (side->have == HEADER)
		begin_payload(r);
}

static bool make_room(struct frame_side *side, uint32_t bytes)
{
	uint8_t *block;

	if (bytes > BLOCK_MAX - side->kept)
		return false;
	if (side->kept + bytes <= side->room)
		return true;
	block = realloc(side->block, side->kept + bytes);
	if (!block)
		return false;
	side->block = block;
	side->room = side->kept + bytes;
	return true;
}

/* That many bytes of the payload, of which some are here. */
static void keep(struct reading *r, uint32_t bytes)
{
	struct frame_side *side = r->side;
	uint32_t here = r->at < r->piece->copied ? r->piece->copied - r->at : 0;

	if (here < bytes || side->is_cut || !make_room(side, bytes)) {
		side->is_cut = true;
		return;
	}
	memcpy(side->block + side->kept, r->piece->data + r->at, bytes);
	side->kept += bytes;
}

static void read_payload(struct reading *r)
{
	struct frame_side *side = r->side;
	uint32_t rest = r->piece->length - r->at, n = side->left < rest ? side->left : rest;

	if (is_kept(side->type))
		keep(r, n);
	else if (side->type == DATA)
		count(r, side->stream, n);
	side->bytes += n;
	side->left -= n;
	r->at += n;
	if (!side->left)
		end_frame(r);
}

/* Where it is not known, a piece that begins with frames says it; nothing of others is known. */
static bool find_place(struct reading *r)
{
	const struct piece *piece = r->piece;
	struct frame_side *side = r->side;

	if (r->at)
		return false;
	if (r->number == SIDE_REQUESTS && piece->copied >= 4 && !memcmp(piece->data, preface, 4)) {
		side->preface_left = PREFACE;
		r->http->from_beginning = true;
		side->in_place = true;
		return true;
	}
	side->in_place = http2_begins(piece);
	return side->in_place;
}

static void read_preface(struct reading *r)
{
	uint32_t at = PREFACE - r->side->preface_left;

	if (r->piece->data[r->at++] != (uint8_t)preface[at])
		lose(r, true);
	else
		r->side->preface_left--;
}

static void parse(void *state, enum side number, const struct piece *piece,
		  const struct protocol_sink *sink)
{
	struct http2 *http = state;
	struct reading r = {http, &http->sides[number], number, piece, sink, 0};

	while (r.at < piece->length) {
		if (!r.side->in_place && !find_place(&r))
			break;
		if (r.side->left)
			read_payload(&r);
		else if (r.at >= piece->copied)
			lose(&r, false);
		else if (r.side->preface_left)
			read_preface(&r);
		else
			read_header(&r);
	}
}

static void free_http2(void *state)
{
	struct http2 *http = state;

	for (int side = 0; side < SIDES; side++) {
		drop_block(&http->sides[side]);
		hpack_free(http->sides[side].hpack);
	}
	vec_free(&http->streams);
}

void *http2_of_upgrade(void)
{
	struct http2 *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	http->from_beginning = true;
	http->sides[SIDE_REQUESTS].in_place = http->sides[SIDE_ANSWERS].in_place = true;
	http->sides[SIDE_REQUESTS].preface_left = PREFACE;
	/* its request was sent, in HTTP/1 */
	if (!vec_push(&http->streams, ((struct stream){.id = HTTP2_UPGRADED}))) {
		free(http);
		return NULL;
	}
	return http;
}

const struct protocol protocol_http2 = {
	.id = FILM_PROTOCOL_HTTP2,
	.kernel = KERNEL_HTTP2,
	.size = sizeof(struct http2),
	.side_of = http2_side_of,
	.parse = parse,
	.free = free_http2,
};
