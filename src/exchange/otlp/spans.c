// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/protobuf.h"

#define YEAR_2000  (946684800 * SECOND_NS)
#define FUTURE_MAX (600 * SECOND_NS) /* how wrong a clock may be */

void otlp_spans_free(struct otlp_spans *spans)
{
	vec_free(&spans->all);
	name_pool_free(&spans->names);
	*spans = (struct otlp_spans){0};
}

/* -- for both ---------------------------------------------------------------------------------- */

const char *otlp_spans_text(struct otlp_spans *spans, const void *text, size_t size)
{
	char copy[SPAN_TEXT_MAX + 1];

	if (size > SPAN_TEXT_MAX) {
		size = SPAN_TEXT_MAX;
		/* not in the middle of a character */
		while (size && (((const uint8_t *)text)[size] & 0xc0) == 0x80)
			size--;
	}
	if (size)
		memcpy(copy, text, size);
	copy[size] = 0;
	return name_pool_add(&spans->names, copy);
}

bool otlp_spans_resource(struct otlp_spans *spans, struct otlp_resource *resource, const char *key,
			 const char *text, uint64_t number)
{
	const char **to = !strcmp(key, "service.name") ? &resource->service
			  : !strcmp(key, "host.name")  ? &resource->host
						       : NULL;

	if (!strcmp(key, "process.pid"))
		resource->pid = number <= INT32_MAX ? (uint32_t)number : 0;
	if (to)
		*to = otlp_spans_text(spans, text, strlen(text));
	return !to || *to;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Why it is rejected; null: it is not. */
static const char *reject(const struct otlp_spans *spans, const struct span *span)
{
	if (is_zero(span->trace, SPAN_TRACE) || is_zero(span->id, SPAN_ID))
		return "spans need a trace id of 16 bytes and a span id of 8";
	if (span->start < YEAR_2000 || span->end < span->start ||
	    span->end > spans->now + FUTURE_MAX)
		return "spans begin after the year 2000, end after they begin, and not in the "
		       "future";
	if (spans->all.count == OTLP_SPANS_MAX)
		return "at most 10000 spans of a request are kept";
	return NULL;
}

bool otlp_spans_add(struct otlp_spans *spans, const struct otlp_resource *resource,
		    const struct span *span)
{
	const char *reason = reject(spans, span);
	struct span kept = *span;

	if (reason) {
		spans->rejected++;
		spans->reason = reason;
		return true;
	}
	kept.host = resource->host;
	kept.service = resource->service;
	kept.pid = resource->pid;
	if (kept.kind > SPAN_KIND_CONSUMER)
		kept.kind = SPAN_KIND_UNKNOWN;
	if (kept.status > SPAN_STATUS_ERROR)
		kept.status = SPAN_STATUS_UNSET;
	return vec_push(&spans->all, kept);
}

/* -- protobuf ---------------------------------------------------------------------------------- */

struct attribute {
	char key[64];
	struct bytes text;
	uint64_t number;
};

/* A KeyValue; a value that is neither a text nor a number leaves both empty. */
static bool read_attribute(struct bytes message, struct attribute *a)
{
	struct proto_field field, value;

	*a = (struct attribute){0};
	while (proto_next(&message, &field)) {
		if (field.number == 1 && field.wire == PROTO_BYTES &&
		    bytes_left(&field.bytes) < sizeof(a->key)) {
			memcpy(a->key, field.bytes.at, bytes_left(&field.bytes));
			a->key[bytes_left(&field.bytes)] = 0;
		}
		if (field.number != 2 || field.wire != PROTO_BYTES)
			continue;
		while (proto_next(&field.bytes, &value)) {
			if (value.number == 1 && value.wire == PROTO_BYTES)
				a->text = value.bytes;
			if (value.number == 3 && value.wire == PROTO_VARINT)
				a->number = value.value;
		}
		if (field.bytes.failed)
			return false;
	}
	return !message.failed;
}

struct reader {
	struct otlp_spans *spans;
	int err; /* -EBADMSG, -ENOMEM */
};

static void read_resource(struct reader *r, struct bytes message, struct otlp_resource *resource)
{
	struct proto_field field;
	struct attribute a;

	while (!r->err && proto_next(&message, &field)) {
		char text[SPAN_TEXT_MAX + 1];
		size_t size;

		if (field.number != 1 || field.wire != PROTO_BYTES)
			continue;
		if (!read_attribute(field.bytes, &a)) {
			r->err = -EBADMSG;
			return;
		}
		size = bytes_left(&a.text) < sizeof(text) ? bytes_left(&a.text) : sizeof(text) - 1;
		if (size)
			memcpy(text, a.text.at, size);
		text[size] = 0;
		if (!otlp_spans_resource(r->spans, resource, a.key, text, a.number))
			r->err = -ENOMEM;
	}
	r->err = r->err ? r->err : message.failed ? -EBADMSG : 0;
}

static void read_id(const struct proto_field *field, uint8_t *to, size_t size)
{
	if (field->wire == PROTO_BYTES && bytes_left(&field->bytes) == size)
		memcpy(to, field->bytes.at, size);
}

static void read_span_field(struct reader *r, struct proto_field *field, struct span *span)
{
	struct proto_field inner;
	struct attribute a;

	switch (field->number) {
	case 1:
		read_id(field, span->trace, SPAN_TRACE);
		break;
	case 2:
		read_id(field, span->id, SPAN_ID);
		break;
	case 4:
		read_id(field, span->parent, SPAN_ID);
		break;
	case 5:
		if (field->wire != PROTO_BYTES)
			break;
		span->name = otlp_spans_text(r->spans, field->bytes.at, bytes_left(&field->bytes));
		r->err = span->name ? r->err : -ENOMEM;
		break;
	case 6:
		span->kind = field->value <= UINT8_MAX ? (uint8_t)field->value : 0;
		break;
	case 7:
		span->start = field->value;
		break;
	case 8:
		span->end = field->value;
		break;
	case 9:
		if (field->wire != PROTO_BYTES)
			break;
		if (!read_attribute(field->bytes, &a))
			r->err = -EBADMSG;
		else if (!strcmp(a.key, "thread.id") && a.number <= INT32_MAX)
			span->tid = (uint32_t)a.number;
		break;
	case 15:
		while (field->wire == PROTO_BYTES && proto_next(&field->bytes, &inner))
			if (inner.number == 3 && inner.wire == PROTO_VARINT)
				span->status = inner.value <= UINT8_MAX ? (uint8_t)inner.value : 0;
		r->err = field->bytes.failed ? -EBADMSG : r->err;
		break;
	default:
		break;
	}
}

static void read_span(struct reader *r, const struct otlp_resource *resource, struct bytes message)
{
	struct span span = {.name = ""};
	struct proto_field field;

	while (!r->err && proto_next(&message, &field))
		read_span_field(r, &field, &span);
	if (!r->err && message.failed)
		r->err = -EBADMSG;
	if (!r->err && !otlp_spans_add(r->spans, resource, &span))
		r->err = -ENOMEM;
}

static void read_scope(struct reader *r, const struct otlp_resource *resource, struct bytes message)
{
	struct proto_field field;

	while (!r->err && proto_next(&message, &field))
		if (field.number == 2 && field.wire == PROTO_BYTES)
			read_span(r, resource, field.bytes);
	r->err = r->err ? r->err : message.failed ? -EBADMSG : 0;
}

/* A ResourceSpans: what it says of the resource may stand behind its spans. */
static void read_resource_spans(struct reader *r, struct bytes message)
{
	struct otlp_resource resource = {.host = "", .service = ""};
	struct bytes again = message;
	struct proto_field field;

	while (!r->err && proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			read_resource(r, field.bytes, &resource);
	while (!r->err && proto_next(&again, &field))
		if (field.number == 2 && field.wire == PROTO_BYTES)
			read_scope(r, &resource, field.bytes);
	r->err = r->err ? r->err : message.failed || again.failed ? -EBADMSG : 0;
}

int otlp_spans_protobuf(struct otlp_spans *spans, const uint8_t *body, size_t size,
			struct fail *why)
{
	struct bytes message = {body, body + size, false};
	struct reader r = {spans, 0};
	struct proto_field field;

	while (!r.err && proto_next(&message, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES)
			read_resource_spans(&r, field.bytes);
	if (r.err == -ENOMEM)
		return fail_errno(why, -ENOMEM, NULL, "cannot take these spans");
	if (r.err || message.failed)
		return fail(why, -EBADMSG, "send an ExportTraceServiceRequest of OTLP",
			    "cannot take these spans: it is another message, or damaged");
	return 0;
}
