// SPDX-License-Identifier: Apache-2.0
#include "resolve/otel_resource.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "process/otel_context.h"

static const char *const keys[OTEL_KEYS] = {"deployment.environment", "deployment.environment.name",
					    "service.name", "service.namespace", "service.version"};

static bool is_wanted(const struct bytes *key)
{
	for (size_t i = 0; i < OTEL_KEYS; i++)
		if (bytes_left(key) == strlen(keys[i]) &&
		    !memcmp(key->at, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* A KeyValue; its value is an AnyValue, of which field 1 is a text. */
static void read_attribute(struct bytes attribute, char text[OTEL_RESOURCE_SIZE])
{
	char label[FILM_LABEL_KEY_MAX + FILM_LABEL_VALUE_MAX + 2];
	struct bytes key = {0}, value = {0};
	struct proto_field field;
	struct fail ignored;
	bool has_text = false;

	while (proto_next(&attribute, &field)) {
		if (field.number == 1 && field.wire == PROTO_BYTES)
			key = field.bytes;
		if (field.number == 2 && field.wire == PROTO_BYTES)
			value = field.bytes;
	}
	while (proto_next(&value, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES) {
			attribute = field.bytes;
			has_text = true;
		}
	/* a value that cannot be a label is left out: too long, with a comma, no text */
	if (!has_text || !is_wanted(&key) ||
	    !film_label_value_ok((const char *)attribute.at, bytes_left(&attribute)))
		return;
	snprintf(label, sizeof(label), "%.*s=%.*s", (int)bytes_left(&key), (const char *)key.at,
		 (int)bytes_left(&attribute), (const char *)attribute.at);
	film_labels_add(text, OTEL_RESOURCE_SIZE, label, &ignored);
}

static void read_resource(struct bytes resource, char text[OTEL_RESOURCE_SIZE])
{
	struct proto_field field;

	while (proto_next(&resource, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			read_attribute(field.bytes, text);
}

int otel_resource_parse(const void *payload, size_t size, char text[OTEL_RESOURCE_SIZE])
{
	struct bytes message = {payload, (const uint8_t *)payload + size, false};
	struct proto_field field;

	*text = 0;
	while (proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			read_resource(field.bytes, text);
	return message.failed || !*text ? -EBADMSG : 0;
}

int otel_resource_read(const struct process *process, char text[OTEL_RESOURCE_SIZE])
{
	uint8_t *payload = malloc(OTEL_PAYLOAD_MAX);
	size_t size = 0;
	int err = payload ? otel_context_read(process, payload, &size) : -ENOMEM;

	*text = 0;
	if (!err)
		err = otel_resource_parse(payload, size, text);
	free(payload);
	return err;
}
