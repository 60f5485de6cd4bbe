// SPDX-License-Identifier: Apache-2.0
/*
 * The same as JSON: names in camelCase, ids in hexadecimal, numbers of 64 bits as text, or as
 * numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/text.h"
#include "exchange/otlp/spans.h"

/* A number as itself or as text; 0: none. */
static uint64_t number_of(const json_t *value)
{
	uint64_t number = 0;

	if (json_is_integer(value) && json_integer_value(value) > 0)
		return (uint64_t)json_integer_value(value);
	if (json_is_string(value) &&
	    text_parse_u64(json_string_value(value), 0, INT64_MAX, &number))
		return 0;
	return number;
}

static void parse_id(const json_t *value, uint8_t *to, size_t size)
{
	const char *text = json_string_value(value);

	if (!text || json_string_length(value) != 2 * size)
		return;
	if (!text_parse_hex(text, 2 * size, to))
		memset(to, 0, size);
}

static bool parse_resource(struct otlp_spans *spans, const json_t *of,
			   struct otlp_resource *resource)
{
	const json_t *attributes = json_object_get(of, "attributes"), *one;
	bool ok = true;
	size_t i;

	json_array_foreach(attributes, i, one)
	{
		const char *key = json_string_value(json_object_get(one, "key"));
		const json_t *value = json_object_get(one, "value");
		const char *text = json_string_value(json_object_get(value, "stringValue"));

		if (key)
			ok = ok &&
			     otlp_spans_resource(spans, resource, key, text ? text : "",
						 number_of(json_object_get(value, "intValue")));
	}
	return ok;
}

static uint32_t thread_of(const json_t *of)
{
	const json_t *attributes = json_object_get(of, "attributes"), *one;
	size_t i;

	json_array_foreach(attributes, i, one)
	{
		const char *key = json_string_value(json_object_get(one, "key"));
		const json_t *value = json_object_get(json_object_get(one, "value"), "intValue");

		if (key && !strcmp(key, "thread.id") && number_of(value) <= INT32_MAX)
			return (uint32_t)number_of(value);
	}
	return 0;
}

static uint8_t small_of(const json_t *value)
{
	uint64_t number = number_of(value);

	return number <= UINT8_MAX ? (uint8_t)number : 0;
}

static bool parse_span(struct otlp_spans *spans, const struct otlp_resource *resource,
		       const json_t *of)
{
	const json_t *name = json_object_get(of, "name");
	struct span span = {
		.start = number_of(json_object_get(of, "startTimeUnixNano")),
		.end = number_of(json_object_get(of, "endTimeUnixNano")),
		.kind = small_of(json_object_get(of, "kind")),
		.status = small_of(json_object_get(json_object_get(of, "status"), "code")),
		.tid = thread_of(of),
		.name = "",
	};

	parse_id(json_object_get(of, "traceId"), span.trace, SPAN_TRACE);
	parse_id(json_object_get(of, "spanId"), span.id, SPAN_ID);
	parse_id(json_object_get(of, "parentSpanId"), span.parent, SPAN_ID);
	if (json_is_string(name))
		span.name =
			otlp_spans_text(spans, json_string_value(name), json_string_length(name));
	return span.name && otlp_spans_add(spans, resource, &span);
}

static bool parse_all(struct otlp_spans *spans, const json_t *root)
{
	const json_t *of_resource, *of_scope, *of;
	size_t i, k, n;

	json_array_foreach(json_object_get(root, "resourceSpans"), i, of_resource)
	{
		struct otlp_resource resource = {.host = "", .service = ""};

		if (!parse_resource(spans, json_object_get(of_resource, "resource"), &resource))
			return false;
		json_array_foreach(json_object_get(of_resource, "scopeSpans"), k, of_scope)
			json_array_foreach(json_object_get(of_scope, "spans"), n,
					   of) if (!parse_span(spans, &resource, of)) return false;
	}
	return true;
}

int otlp_spans_json(struct otlp_spans *spans, const uint8_t *body, size_t size, struct fail *why)
{
	json_error_t error;
	json_t *root;
	int err = 0;

	if (size > OTLP_SPANS_JSON_MAX)
		return fail(why, -E2BIG, "send fewer at once, or protobuf",
			    "cannot take these spans: they are more than %d bytes of JSON",
			    OTLP_SPANS_JSON_MAX);
	root = json_loadb((const char *)body, size, JSON_ALLOW_NUL, &error);
	if (!root && json_error_code(&error) == json_error_out_of_memory)
		return fail_errno(why, -ENOMEM, NULL, "cannot take these spans");
	if (!json_is_object(root) || !json_is_array(json_object_get(root, "resourceSpans")))
		err = fail(why, -EBADMSG, "send an ExportTraceServiceRequest of OTLP",
			   "cannot take these spans: it is other JSON, or damaged");
	else if (!parse_all(spans, root))
		err = fail_errno(why, -ENOMEM, NULL, "cannot take these spans");
	json_decref(root);
	return err;
}
