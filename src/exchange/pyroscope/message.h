/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PYROSCOPE_MESSAGE_H
#define EXCHANGE_PYROSCOPE_MESSAGE_H

#include "base/buf.h"
#include "base/json.h"

/*
 * Writes a message of protobuf, or the same as JSON by protobuf's mapping: numbers of 64 bits are
 * texts there. Each function has a field by its number and by its name in JSON; where the field is
 * repeated, message_list() is called before the first item and message_list_end() after the last,
 * and the name of the items is null.
 *
 *	message_begin(&m, is_json, out);
 *	message_text(&m, 1, "name", "shop");
 *	err = message_end(&m);
 */
enum {
	MESSAGE_DEPTH_MAX = 6
};

struct message {
	bool is_json;
	FILE *out;
	struct json json;
	struct buf parts[MESSAGE_DEPTH_MAX]; /* of protobuf: each open message */
	unsigned int fields[MESSAGE_DEPTH_MAX], depth;
};

void message_begin(struct message *m, bool is_json, FILE *out);
int message_end(struct message *m); /* writes the message; 0 or -ENOMEM */

void message_list(struct message *m, const char *name);
void message_list_end(struct message *m);
void message_open(struct message *m, unsigned int field, const char *name);
void message_close(struct message *m);
void message_text(struct message *m, unsigned int field, const char *name, const char *value);
void message_number(struct message *m, unsigned int field, const char *name, uint64_t value);
void message_double(struct message *m, unsigned int field, const char *name, double value);
void message_bool(struct message *m, unsigned int field, const char *name, bool value);
/* A whole repeated field of numbers, which protobuf packs; without message_list(). */
void message_numbers(struct message *m, unsigned int field, const char *name,
		     const uint64_t *values, size_t count);

#endif
