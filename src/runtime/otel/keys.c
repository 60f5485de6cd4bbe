// SPDX-License-Identifier: Apache-2.0
#include "runtime/otel/keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"

/* -- names ------------------------------------------------------------------------------------- */

/* The fields of AnyValue and ArrayValue (opentelemetry/proto/common/v1/common.proto). */
enum {
	ANY_TEXT = 1,
	ANY_ARRAY = 5,
	ARRAY_VALUES = 1,
};

/* The last field of that number in a message; false: it has none. */
static bool find_field(struct bytes message, uint32_t number, struct bytes *to)
{
	struct proto_field field;
	bool found = false;

	while (proto_next(&message, &field))
		if (field.number == number && field.wire == PROTO_BYTES) {
			*to = field.bytes;
			found = true;
		}
	return found && !message.failed;
}

static bool is_text(const struct bytes *bytes, const char *text)
{
	return bytes_left(bytes) == strlen(text) && !memcmp(bytes->at, text, strlen(text));
}

/* The schemas of this document: while it was a draft, and after that. */
static bool is_known_schema(const struct bytes *value)
{
	return is_text(value, "tlsdesc_v1_dev") || is_text(value, "tlsdesc_v1") ||
	       is_text(value, "tls_v1");
}

static void copy_name(const struct bytes *from, char to[OTEL_KEY_BYTES + 1])
{
	size_t length = bytes_left(from) < OTEL_KEY_BYTES ? bytes_left(from) : OTEL_KEY_BYTES;

	for (size_t i = 0; i < length; i++) {
		char c = (char)from->at[i];

		/* what has a meaning in a list of labels, or none in a line */
		to[i] = (unsigned char)c < 0x20 || c == 0x7f || c == '=' || c == ',' ? '_' : c;
	}
	to[length] = 0;
}

static void parse_names(struct bytes array, struct otel_keys *keys)
{
	struct proto_field field;
	struct bytes text;

	keys->count = 0;
	while (keys->count < OTEL_KEYS_MAX && proto_next(&array, &field)) {
		if (field.number != ARRAY_VALUES || field.wire != PROTO_BYTES)
			continue;
		/* one that has no text counts all the same, and has no name */
		text = (struct bytes){0};
		find_field(field.bytes, ANY_TEXT, &text);
		copy_name(&text, keys->names[keys->count++]);
	}
}

int otel_keys_parse(const void *payload, size_t size, struct otel_keys *keys)
{
	struct bytes message = {payload, (const uint8_t *)payload + size, false};
	struct bytes key = {0}, any = {0}, value = {0};
	bool is_known = false, has_schema = false;
	struct proto_field field;

	keys->count = 0;
	while (proto_next(&message, &field)) {
		if (field.number != 2 || field.wire != PROTO_BYTES ||
		    !find_field(field.bytes, 1, &key) || !find_field(field.bytes, 2, &any))
			continue;
		if (is_text(&key, "threadlocal.schema_version") &&
		    find_field(any, ANY_TEXT, &value)) {
			has_schema = true;
			is_known = is_known_schema(&value);
		}
		if (is_text(&key, "threadlocal.attribute_key_map") &&
		    find_field(any, ANY_ARRAY, &value))
			parse_names(value, keys);
	}
	if (is_known && !message.failed)
		return keys->count ? 0 : -ENOENT;
	keys->count = 0;
	if (message.failed)
		return -EBADMSG;
	return has_schema ? -ENOTSUP : -ENOENT;
}

/* -- labels ------------------------------------------------------------------------------------ */

struct attribute {
	const char *key;
	const uint8_t *value;
	size_t length;
};

static int by_key(const void *a, const void *b)
{
	const struct attribute *l = a, *r = b;

	return strcmp(l->key, r->key);
}

/* Appends what there is room for, and a zero. */
static void put_value(char *text, size_t *used, const uint8_t *value, size_t length)
{
	for (size_t i = 0; i < length && *used < OTEL_TEXT_MAX - 1; i++)
		text[(*used)++] = value[i] < 0x20 || value[i] == 0x7f ? ' ' : (char)value[i];
	text[*used] = 0;
}

static void put_text(char *text, size_t *used, const char *more)
{
	put_value(text, used, (const uint8_t *)more, strlen(more));
}

/* The last attribute of each number. Returns how many have no name. */
static size_t find_attributes(const struct otel_keys *keys, const uint8_t *attributes, size_t size,
			      struct attribute last[OTEL_KEYS_MAX])
{
	size_t unknown = 0, length;

	for (size_t at = 0; size - at >= 2; at += 2 + length) {
		uint8_t number = attributes[at];

		length = attributes[at + 1];
		if (length > size - at - 2)
			break;
		if (number >= keys->count)
			unknown++;
		else if (*keys->names[number])
			last[number] = (struct attribute){keys->names[number], attributes + at + 2,
							  length};
	}
	return unknown;
}

size_t otel_labels_format(const struct otel_keys *keys, const uint8_t *attributes, size_t size,
			  char text[OTEL_TEXT_MAX], size_t *unknown)
{
	struct attribute last[OTEL_KEYS_MAX] = {0};
	size_t count = 0, used = 0;

	*text = 0;
	*unknown = find_attributes(keys, attributes, size, last);
	for (size_t i = 0; i < OTEL_KEYS_MAX; i++)
		if (last[i].key)
			last[count++] = last[i];
	qsort(last, count, sizeof(*last), by_key);
	for (size_t i = 0; i < count && i < OTEL_LABELS_MAX; i++) {
		put_text(text, &used, i ? "," : "");
		put_text(text, &used, last[i].key);
		put_text(text, &used, "=");
		put_value(text, &used, last[i].value, last[i].length);
	}
	if (count > OTEL_LABELS_MAX)
		put_text(text, &used, ",…");
	return count;
}
