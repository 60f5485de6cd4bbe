/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include "base/buf.h"

/* Messages in the wire format of protocol buffers, written and read by hand: they are small. */

/* Zero is what a field has when it is left out, and is left out. */
void proto_number(struct buf *to, unsigned int field, uint64_t value);

/* The same, but 0 is written: for readers that tell 0 from a field that is not there. */
void proto_number_always(struct buf *to, unsigned int field, uint64_t value);

/* A number of eight bytes (fixed64, sfixed64, double); 0 is left out. */
void proto_fixed64(struct buf *to, unsigned int field, uint64_t value);

void proto_text(struct buf *to, unsigned int field, const char *text);
void proto_bytes(struct buf *to, unsigned int field, const void *bytes, size_t count);

/* Puts inner as a field, and empties it. */
void proto_message(struct buf *to, unsigned int field, struct buf *inner);

/* A field as it was read. */
enum proto_wire {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2,
	PROTO_FIXED32 = 5,
	PROTO_NOTHING = 6, /* its numbers were taken */
};
struct proto_field {
	unsigned int number;
	enum proto_wire wire;
	uint64_t value;	    /* where it is a number, of any size */
	struct bytes bytes; /* where it is a text, a message, or numbers one behind the other */
};

/*
 * Reads the next field. False at the end, or where no field follows: then message->failed is set.
 */
bool proto_next(struct bytes *message, struct proto_field *field);

/*
 * Reads the next number of a repeated field, whether it stands alone or with others; false: there
 * is none, or (field->bytes.failed) what follows is none.
 */
bool proto_next_number(struct proto_field *field, uint64_t *number);

#endif
