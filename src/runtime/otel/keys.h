/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_OTEL_KEYS_H
#define RUNTIME_OTEL_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * The names of the attributes that a program publishes of its threads, by the number that stands
 * for them there: threadlocal.attribute_key_map in its process context (process/otel_context.h;
 * OTEP 4947). The program may publish anything.
 */
enum {
	OTEL_KEYS_MAX = 256,  /* a number has one byte */
	OTEL_KEY_BYTES = 63,  /* what is longer is cut */
	OTEL_LABELS_MAX = 32, /* of a sample; the rest is left out, and the label says so */
	/* bytes of a sample's labels: what is more is cut */
	OTEL_TEXT_MAX = 4096,
};

struct otel_keys {
	size_t count;
	char names[OTEL_KEYS_MAX][OTEL_KEY_BYTES + 1];
};

/*
 * Reads the names from a message ProcessContext. 0; -ENOENT: the program has none, so far;
 * -ENOTSUP: its threads publish something else; -EBADMSG: it is not such a message.
 */
int otel_keys_parse(const void *payload, size_t size, struct otel_keys *keys);

/*
 * The labels "key=value,key=value" of a record's attributes, in the order of their keys; of a key
 * that comes again the last value. An attribute without a name is left out. *unknown: that many
 * were. Control characters become spaces, so that one line is one sample's. Returns how many labels
 * there are.
 */
size_t otel_labels_format(const struct otel_keys *keys, const uint8_t *attributes, size_t size,
			  char text[OTEL_TEXT_MAX], size_t *unknown);

#endif
