/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_HPACK_H
#define PROTOCOL_HPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the blocks of headers that one side of an HTTP/2 connection sends (RFC 7541). Each can
 * refer to what the ones before have said: so all of a side's blocks must go through it, in their
 * order.
 */
struct hpack;

/*
 * from_middle: blocks have been sent before that were not seen. What refers to them is read as a
 * field without a name. Null: there is no memory.
 */
struct hpack *hpack_new(bool from_middle);
void hpack_free(struct hpack *hpack); /* null is allowed */

/* The texts live as long as the call, and can hold any bytes. */
typedef void hpack_field(void *context, const char *name, size_t name_size, const char *value,
			 size_t value_size);

/* Reads a whole block. False: it is none, or there is no memory; then no other can be read. */
bool hpack_read(struct hpack *hpack, const uint8_t *block, size_t size, hpack_field *field,
		void *context);

#endif
