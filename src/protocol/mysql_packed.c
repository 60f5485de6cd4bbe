// SPDX-License-Identifier: Apache-2.0
#include "protocol/mysql_packed.h"

#include <string.h>

#include <zlib.h>
#include <zstd.h>

enum {
	NUMBER_AT = 3,
	UNPACKED_AT = 4,
	LEAST = 5, /* of a packet that lies as it is: a head of four bytes, and a command */

	ZSTD_WINDOW_LOG = 24, /* no packet is longer */
};

static uint32_t little3_at(const uint8_t *data)
{
	return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
}

static bool is_zlib(const uint8_t *data, uint32_t size)
{
	return size > 2 && data[0] == 0x78 && !((data[0] << 8 | data[1]) % 31);
}

static bool is_zstd(const uint8_t *data, uint32_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return size > sizeof(magic) && !memcmp(data, magic, sizeof(magic));
}

bool mysql_packed_begins(const struct piece *piece)
{
	return piece->copied >= MYSQL_PACKED_HEADER && !piece->data[NUMBER_AT] &&
	       little3_at(piece->data) >= LEAST;
}

bool mysql_packed_is_command(const struct piece *piece)
{
	const uint8_t *body = piece->data + MYSQL_PACKED_HEADER;
	uint32_t here;

	if (!mysql_packed_begins(piece) || piece->copied < MYSQL_PACKED_HEADER + LEAST ||
	    little3_at(piece->data) + MYSQL_PACKED_HEADER != piece->length)
		return false;
	here = piece->copied - MYSQL_PACKED_HEADER;
	if (!little3_at(piece->data + UNPACKED_AT))
		return !body[NUMBER_AT] &&
		       little3_at(body) + MYSQL_PACKED_HEADER + 4 == piece->length;
	return is_zlib(body, here) || is_zstd(body, here);
}

/* -- what was packed --------------------------------------------------------------------------- */

/* What a beginning holds; -1: it is damaged. is_all: nothing is missing of what was packed. */
static int64_t unpack_zlib(const struct mysql_packed *packed, uint8_t *to, uint32_t room,
			   bool *is_all)
{
	z_stream stream = {.next_in = (unsigned char *)packed->body,
			   .avail_in = packed->kept,
			   .next_out = to,
			   .avail_out = room};
	int rc;

	if (inflateInit(&stream) != Z_OK)
		return -1;
	rc = inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	*is_all = rc == Z_STREAM_END;
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return -1;
	return room - stream.avail_out;
}

static int64_t unpack_zstd(const struct mysql_packed *packed, uint8_t *to, uint32_t room,
			   bool *is_all)
{
	ZSTD_inBuffer in = {packed->body, packed->kept, 0};
	ZSTD_outBuffer out = {to, room, 0};
	ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t rc = 0;

	if (!context)
		return -1;
	rc = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	if (!ZSTD_isError(rc))
		rc = ZSTD_decompressStream(context, &out, &in);
	ZSTD_freeDCtx(context);
	*is_all = !rc;
	return ZSTD_isError(rc) ? -1 : (int64_t)out.pos;
}

/* How much there is of size bytes that were packed; what does not fit them is none. */
static uint32_t unpack(const struct mysql_packed *packed, uint8_t *to, uint32_t size,
		       uint64_t *strange)
{
	uint32_t room = size < MYSQL_UNPACKED_MAX ? size : MYSQL_UNPACKED_MAX;
	bool is_all = false, is_whole = packed->kept == packed->size;
	int64_t got = -1;

	if (is_zlib(packed->body, packed->kept))
		got = unpack_zlib(packed, to, room, &is_all);
	else if (is_zstd(packed->body, packed->kept))
		got = unpack_zstd(packed, to, room, &is_all);
	if (got < 0 || ((is_all || (is_whole && got < room)) && got != size)) {
		++*strange;
		return 0;
	}
	return (uint32_t)got;
}

/* -- packets ----------------------------------------------------------------------------------- */

struct packing {
	struct mysql_packed *packed;
	const struct piece *piece;
	uint32_t at;
	uint64_t *strange;
	void (*emit)(void *context, const struct piece *piece, uint32_t bytes);
	void *context;
};

static void end_packet(struct packing *p)
{
	struct mysql_packed *packed = p->packed;
	uint32_t unpacked = little3_at(packed->header + UNPACKED_AT);
	struct piece piece = {packed->body, packed->kept, packed->size, NULL};
	uint8_t room[MYSQL_UNPACKED_MAX];

	if (unpacked) {
		piece.data = room;
		piece.copied = unpack(packed, room, unpacked, p->strange);
		piece.length = unpacked;
	}
	packed->have = 0;
	packed->kept = 0;
	if (piece.length)
		p->emit(p->context, &piece, packed->size + MYSQL_PACKED_HEADER);
}

static void read_header(struct packing *p)
{
	struct mysql_packed *packed = p->packed;

	packed->header[packed->have++] = p->piece->data[p->at++];
	if (packed->have < MYSQL_PACKED_HEADER)
		return;
	packed->size = packed->left = little3_at(packed->header);
	packed->kept = 0;
	if (!packed->left)
		packed->have = 0;
}

static void read_body(struct packing *p)
{
	struct mysql_packed *packed = p->packed;
	const struct piece *piece = p->piece;
	uint32_t rest = piece->length - p->at, n = packed->left < rest ? packed->left : rest;
	uint32_t here = p->at < piece->copied ? piece->copied - p->at : 0;
	uint32_t keep = n < here ? n : here;

	/* what was not there is not to be followed by what was */
	if (packed->kept + packed->left < packed->size)
		keep = 0;
	if (keep > MYSQL_PACKED_MAX - packed->kept)
		keep = MYSQL_PACKED_MAX - packed->kept;
	if (keep)
		memcpy(packed->body + packed->kept, piece->data + p->at, keep);
	packed->kept += keep;
	packed->left -= n;
	p->at += n;
	if (!packed->left)
		end_packet(p);
}

void mysql_packed_parse(struct mysql_packed *packed, const struct piece *piece, uint64_t *strange,
			void (*emit)(void *context, const struct piece *piece, uint32_t bytes),
			void *context)
{
	struct packing p = {packed, piece, 0, strange, emit, context};

	while (p.at < piece->length && !packed->is_lost) {
		if (packed->left)
			read_body(&p);
		else if (p.at >= piece->copied)
			packed->is_lost = true;
		else
			read_header(&p);
	}
	if (packed->is_lost)
		packed->have = packed->kept = packed->left = 0;
}
