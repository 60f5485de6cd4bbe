// SPDX-License-Identifier: Apache-2.0
#include "exchange/pyroscope/message.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/protobuf.h"

static struct buf *top(struct message *m)
{
	return &m->parts[m->depth];
}

void message_begin(struct message *m, bool is_json, FILE *out)
{
	*m = (struct message){.is_json = is_json, .out = out, .json.out = out};
	if (is_json)
		json_open(&m->json, NULL, '{');
}

int message_end(struct message *m)
{
	struct buf *all = &m->parts[0];
	bool failed = all->failed;

	assert(!m->depth);
	if (m->is_json)
		json_close(&m->json, '}');
	else if (!failed && all->count)
		fwrite(all->at, 1, all->count, m->out);
	for (size_t i = 0; i < MESSAGE_DEPTH_MAX; i++)
		buf_free(&m->parts[i]);
	return failed ? -ENOMEM : 0;
}

void message_list(struct message *m, const char *name)
{
	if (m->is_json)
		json_open(&m->json, name, '[');
}

void message_list_end(struct message *m)
{
	if (m->is_json)
		json_close(&m->json, ']');
}

void message_open(struct message *m, unsigned int field, const char *name)
{
	if (m->is_json) {
		json_open(&m->json, name, '{');
		return;
	}
	assert(m->depth + 1 < MESSAGE_DEPTH_MAX);
	m->fields[++m->depth] = field;
}

void message_close(struct message *m)
{
	struct buf *inner = top(m);

	if (m->is_json) {
		json_close(&m->json, '}');
		return;
	}
	m->depth--;
	proto_message(top(m), m->fields[m->depth + 1], inner);
}

/* Harmless UTF-8: readers refuse other bytes in texts. */
void message_text(struct message *m, unsigned int field, const char *name, const char *value)
{
	char *safe = text_safe(value, "");

	if (!safe)
		m->parts[0].failed = true;
	else if (m->is_json)
		json_text(&m->json, name, safe);
	else
		proto_text(top(m), field, safe);
	free(safe);
}

static void json_number_text(struct json *json, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_text(json, name, text);
}

void message_number(struct message *m, unsigned int field, const char *name, uint64_t value)
{
	if (m->is_json)
		json_number_text(&m->json, name, value);
	else
		proto_number(top(m), field, value);
}

void message_double(struct message *m, unsigned int field, const char *name, double value)
{
	uint64_t bits;

	if (m->is_json) {
		json_double(&m->json, name, value);
		return;
	}
	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(top(m), field, bits);
}

void message_bool(struct message *m, unsigned int field, const char *name, bool value)
{
	if (m->is_json)
		json_bool(&m->json, name, value);
	else
		proto_number(top(m), field, value);
}

void message_numbers(struct message *m, unsigned int field, const char *name,
		     const uint64_t *values, size_t count)
{
	struct buf packed = {0};

	if (m->is_json) {
		json_open(&m->json, name, '[');
		for (size_t i = 0; i < count; i++)
			json_number_text(&m->json, NULL, values[i]);
		json_close(&m->json, ']');
		return;
	}
	for (size_t i = 0; i < count; i++)
		buf_put_varint(&packed, values[i]);
	proto_message(top(m), field, &packed);
	buf_free(&packed);
}
