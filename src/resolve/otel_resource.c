// SPDX-License-Identifier: Apache-2.0
#include "resolve/otel_resource.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "process/procfs.h"

#define SIGNATURE "OTEL_CTX"
#define VERSION	  2
/* Of a process with more mappings, the rest is not searched. */
#define MAPS_BYTES_MAX (4u << 20)
/* How often a context is read again that changes meanwhile. */
#define TRIES 4

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
};
_Static_assert(sizeof(struct header) == 32, "as OTEP 4719 has it");

/* -- the payload ------------------------------------------------------------------------------- */

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
static void take_attribute(struct bytes attribute, char text[OTEL_RESOURCE_SIZE])
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

static void take_resource(struct bytes resource, char text[OTEL_RESOURCE_SIZE])
{
	struct proto_field field;

	while (proto_next(&resource, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			take_attribute(field.bytes, text);
}

int otel_resource_parse(const void *payload, size_t size, char text[OTEL_RESOURCE_SIZE])
{
	struct bytes message = {payload, (const uint8_t *)payload + size, false};
	struct proto_field field;

	*text = 0;
	while (proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			take_resource(field.bytes, text);
	return message.failed || !*text ? -EBADMSG : 0;
}

/* -- the process's memory ---------------------------------------------------------------------- */

/* Of a mapping, what reading it takes: its range, and where it comes from. */
struct found {
	uint64_t start, end;
	dev_t device; /* 0: of no file */
};

static bool begins_with(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

static bool is_context(const struct procfs_mapping *m, uint64_t address)
{
	(void)address;
	return begins_with(m->path, "/memfd:" SIGNATURE) ||
	       begins_with(m->path, "[anon:" SIGNATURE "]") ||
	       begins_with(m->path, "[anon_shmem:" SIGNATURE "]");
}

static bool has_address(const struct procfs_mapping *m, uint64_t address)
{
	return m->start <= address && address < m->end;
}

/* The first readable mapping of a process that fits. 0, -ENOENT or another negative errno. */
static int find(pid_t pid, bool (*fits)(const struct procfs_mapping *m, uint64_t address),
		uint64_t address, struct found *found)
{
	struct buf text = {0};
	int err = procfs_read(pid, "maps", MAPS_BYTES_MAX, &text);
	char *rest = (char *)text.at, *line;

	err = err == -EFBIG || !err ? -ENOENT : err;
	while (err == -ENOENT && !text.failed && (line = strsep(&rest, "\n"))) {
		struct procfs_mapping m;

		if (!procfs_parse_mapping(line, &m) || !m.readable || !fits(&m, address))
			continue;
		*found = (struct found){m.start, m.end, m.inode ? m.device : 0};
		err = 0;
	}
	buf_free(&text);
	return err;
}

/* What a file system that hangs would have to bring is read by the helper. */
static int read_mapping(const struct process *process, const struct found *from, void *to,
			size_t size, uint64_t address)
{
	struct process reading = *process;

	if (address < from->start || address >= from->end || size > from->end - address)
		return -EBADMSG;
	if (from->device && reading.far)
		reading.far_device = from->device;
	return process_read(&reading, to, size, address);
}

/* Where it may be: behind the header, or in other memory. */
static int read_payload(const struct process *process, const struct found *context,
			const struct header *header, void *to)
{
	struct found at = *context;
	int err = 0;

	if (header->payload < context->start || header->payload >= context->end)
		err = find(process->pid, has_address, header->payload, &at);
	return err ? -EBADMSG : read_mapping(process, &at, to, header->size, header->payload);
}

static bool is_header(const struct header *header)
{
	return !memcmp(header->signature, SIGNATURE, sizeof(header->signature)) &&
	       header->version == VERSION && header->size && header->size <= OTEL_PAYLOAD_MAX;
}

/* -EAGAIN: it has changed meanwhile. */
static int read_once(const struct process *process, const struct found *context, uint8_t *payload,
		     size_t *size)
{
	struct header header, after;
	int err = read_mapping(process, context, &header, sizeof(header), context->start);

	if (err)
		return err;
	/* its program is about to write it */
	if (!header.signature[0])
		return -ENOENT;
	if (!is_header(&header))
		return -EBADMSG;
	err = header.published ? read_payload(process, context, &header, payload) : -EAGAIN;
	if (!err)
		err = read_mapping(process, context, &after, sizeof(after), context->start);
	if (!err && memcmp(&header, &after, sizeof(header)))
		err = -EAGAIN;
	*size = header.size;
	return err;
}

int otel_resource_read(const struct process *process, char text[OTEL_RESOURCE_SIZE])
{
	struct found context;
	uint8_t *payload;
	size_t size = 0;
	int err = find(process->pid, is_context, 0, &context);

	*text = 0;
	if (err)
		return err;
	payload = malloc(OTEL_PAYLOAD_MAX);
	if (!payload)
		return -ENOMEM;
	err = -EAGAIN;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = read_once(process, &context, payload, &size);
	if (!err)
		err = otel_resource_parse(payload, size, text);
	free(payload);
	return err;
}
