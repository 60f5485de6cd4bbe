// SPDX-License-Identifier: Apache-2.0
#include "base/protobuf.h"

#include <string.h>

static void put_tag(struct buf *to, unsigned int field, enum proto_wire wire)
{
	buf_put_varint(to, field << 3 | wire);
}

void proto_number_always(struct buf *to, unsigned int field, uint64_t value)
{
	put_tag(to, field, PROTO_VARINT);
	buf_put_varint(to, value);
}

void proto_number(struct buf *to, unsigned int field, uint64_t value)
{
	if (value)
		proto_number_always(to, field, value);
}

void proto_fixed64(struct buf *to, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	put_tag(to, field, PROTO_FIXED64);
	for (int i = 0; i < 8; i++)
		buf_put_u8(to, (uint8_t)(value >> 8 * i));
}

void proto_bytes(struct buf *to, unsigned int field, const void *bytes, size_t count)
{
	put_tag(to, field, PROTO_BYTES);
	buf_put_varint(to, count);
	buf_put(to, bytes, count);
}

void proto_text(struct buf *to, unsigned int field, const char *text)
{
	proto_bytes(to, field, text, strlen(text));
}

void proto_message(struct buf *to, unsigned int field, struct buf *inner)
{
	proto_bytes(to, field, inner->at, inner->count);
	to->failed |= inner->failed;
	inner->count = 0;
}

bool proto_next(struct bytes *message, struct proto_field *field)
{
	uint64_t tag, size;

	if (message->failed || !bytes_left(message))
		return false;
	tag = bytes_varint(message);
	*field = (struct proto_field){(unsigned int)(tag >> 3), tag & 7, 0, {NULL, NULL, false}};
	switch (field->wire) {
	case PROTO_VARINT:
		field->value = bytes_varint(message);
		break;
	case PROTO_FIXED64:
		field->value = bytes_u64(message);
		break;
	case PROTO_FIXED32:
		field->value = bytes_u32(message);
		break;
	case PROTO_BYTES:
		size = bytes_varint(message);
		field->bytes.at = bytes_read(message, size);
		field->bytes.end = field->bytes.at ? field->bytes.at + size : NULL;
		break;
	default: /* groups are of a time before all formats that are read here */
		message->failed = true;
	}
	/* numbers of fields are from 1 to 2^29 - 1 */
	if (!field->number || tag >> 32)
		message->failed = true;
	return !message->failed;
}

bool proto_next_number(struct proto_field *field, uint64_t *number)
{
	if (field->wire == PROTO_BYTES) {
		if (field->bytes.failed || !bytes_left(&field->bytes))
			return false;
		*number = bytes_varint(&field->bytes);
		return !field->bytes.failed;
	}
	if (field->wire == PROTO_NOTHING)
		return false;
	*number = field->value;
	field->wire = PROTO_NOTHING;
	return true;
}
