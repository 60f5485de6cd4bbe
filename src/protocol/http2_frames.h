/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_HTTP2_FRAMES_H
#define PROTOCOL_HTTP2_FRAMES_H

#include "protocol/protocol.h"

/* The frames of HTTP/2 (RFC 9113, 4.1 and 6). */
#define HTTP2_HEADER  9
#define HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum frame_type {
	DATA,
	HEADERS,
	PRIORITY,
	RST_STREAM,
	SETTINGS,
	PUSH_PROMISE,
	PING,
	GOAWAY,
	WINDOW_UPDATE,
	CONTINUATION,
	TYPES
};

enum frame_flag {
	END_STREAM = 1,
	END_HEADERS = 4,
	PADDED = 8,
	HAS_PRIORITY = 32,
};

/* A number in the order of the network. */
static inline uint32_t http2_big_at(const uint8_t *data)
{
	return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

/* Whether HTTP2_HEADER bytes can be the header of a frame. */
bool http2_is_header(const uint8_t *data);

/* Whether a piece begins with a frame, and goes on with others as far as they are there. */
bool http2_begins(const struct piece *piece);

/* protocol.side_of */
enum side http2_side_of(const struct piece *piece);

#endif
