// SPDX-License-Identifier: Apache-2.0
/* What bytes of HTTP/2 seem to be, where it is not known what stood before them. */
#include "protocol/http2_frames.h"

#include <string.h>

#include "base/buf.h"

/* What is believed of a frame that is not known to be one. */
#define HTTP2_FRAME_MAX (1 << 20)

/* Whether 9 bytes can be the header of a frame. */
bool http2_is_header(const uint8_t *data)
{
	uint32_t size = http2_big_at(data) >> 8, stream = http2_big_at(data + 5);

	if (stream >> 31 || size > HTTP2_FRAME_MAX)
		return false;
	switch (data[3]) {
	case DATA:
		return stream && !(data[4] & ~(END_STREAM | PADDED));
	case HEADERS:
		return stream && size;
	case PRIORITY:
		return stream && size == 5;
	case RST_STREAM:
		return stream && size == 4;
	case SETTINGS:
		return !stream && !(size % 6);
	case PUSH_PROMISE:
		return stream && size >= 4;
	case PING:
		return !stream && size == 8;
	case GOAWAY:
		return !stream && size >= 8;
	case WINDOW_UPDATE:
		return size == 4;
	case CONTINUATION:
		return stream;
	default:
		return false;
	}
}

/* Whether a piece begins with a frame, and goes on with others as far as they are there. */
bool http2_begins(const struct piece *piece)
{
	uint64_t at = 0;

	if (piece->copied < HTTP2_HEADER)
		return false;
	while (at + HTTP2_HEADER <= piece->copied) {
		if (!http2_is_header(piece->data + at))
			return false;
		at += HTTP2_HEADER + (http2_big_at(piece->data + at) >> 8);
	}
	return true;
}

/* An integer of HPACK (RFC 7541, 5.1), of that many bits in its first byte; -1: it does not end. */
static int64_t read_integer(struct bytes *block, int bits)
{
	uint32_t mask = (1u << bits) - 1, value = bytes_u8(block) & mask;
	uint8_t next = 0x80;

	if (value < mask)
		return value;
	for (int shift = 0; next & 0x80 && shift < 21; shift += 7) {
		next = bytes_u8(block);
		value += (uint32_t)(next & 0x7f) << shift;
	}
	return block->failed || next & 0x80 ? -1 : (int64_t)value;
}

static void skip_string(struct bytes *block)
{
	int64_t size = read_integer(block, 7);

	if (size < 0 || !bytes_read(block, (size_t)size))
		block->failed = true;
}

/*
 * What a block of headers begins with says of its sender: the fields that only requests have, and
 * the one that only answers have, stand before others, and have fixed numbers: 1 :authority to 7
 * :scheme, 8 to 14 :status.
 */
static enum side side_of_block(const uint8_t *data, size_t size)
{
	struct bytes block = {data, data + size, false};

	for (int i = 0; i < 8 && block.at < block.end && !block.failed; i++) {
		uint8_t first = *block.at;
		int64_t index;

		if ((first & 0xe0) == 0x20) {
			/* a change of the table's size (6.3) */
			read_integer(&block, 5);
			continue;
		}
		index = read_integer(&block, first & 0x80 ? 7 : first & 0x40 ? 6 : 4);
		if (index >= 1 && index <= 14)
			return index <= 7 ? SIDE_REQUESTS : SIDE_ANSWERS;
		if (first & 0x80)
			continue;
		if (!index)
			skip_string(&block);
		skip_string(&block);
	}
	return SIDES;
}

enum side http2_side_of(const struct piece *piece)
{
	enum side of_others = SIDE_EITHER;
	uint64_t at = 0;

	if (piece->copied >= 4 && !memcmp(piece->data, HTTP2_PREFACE, 4))
		return SIDE_REQUESTS;
	if (!http2_begins(piece))
		return SIDES;
	for (; at + HTTP2_HEADER < piece->copied;
	     at += HTTP2_HEADER + (http2_big_at(piece->data + at) >> 8)) {
		const uint8_t *frame = piece->data + at;
		uint32_t skip = HTTP2_HEADER;
		enum side side;

		if (frame[3] != HEADERS)
			continue;
		of_others = SIDES;
		skip += (frame[4] & PADDED ? 1 : 0) + (frame[4] & HAS_PRIORITY ? 5 : 0);
		if (at + skip >= piece->copied)
			break;
		side = side_of_block(frame + skip, piece->copied - at - skip);
		if (side != SIDES)
			return side;
	}
	return of_others;
}
