// SPDX-License-Identifier: Apache-2.0
#include "exchange/pyroscope/query.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/protobuf.h"

enum {
	TEXT_MAX = 4096, /* bytes of a text */
	NAMES_MAX = 16,	 /* labels that group an answer, or are requested */
	FIELDS_MAX = 10, /* of a message */
};

/* What a field means. */
enum meaning {
	NOTHING, /* the end of a table */
	PROFILE_TYPE,
	SELECTOR,
	LABEL,
	NAME,
	START,
	END,
	NODES_MAX,
	LIMIT,
	STEP,
	REFUSED,       /* a message or text that must be missing */
	REFUSED_ABOVE, /* a number of which only 0 and 1 are supported */
	REFUSED_NUMBER /* a number of which only 0 is supported */
};

struct field {
	unsigned int number;
	const char *name, *json; /* in the .proto file, and in JSON */
	enum meaning meaning;
};

/* The fields of each request, with the numbers of the .proto files. */
static const struct field fields[PYROSCOPE_METHODS][FIELDS_MAX + 1] = {
	[PYROSCOPE_PROFILE_TYPES] = {{1, "start", "start", START}, {2, "end", "end", END}},
	[PYROSCOPE_LABEL_NAMES] = {{1, "matchers", "matchers", SELECTOR},
				   {2, "start", "start", START},
				   {3, "end", "end", END}},
	[PYROSCOPE_LABEL_VALUES] = {{1, "name", "name", LABEL},
				    {2, "matchers", "matchers", SELECTOR},
				    {3, "start", "start", START},
				    {4, "end", "end", END}},
	[PYROSCOPE_SERIES] = {{1, "matchers", "matchers", SELECTOR},
			      {2, "label_names", "labelNames", NAME},
			      {3, "start", "start", START},
			      {4, "end", "end", END}},
	[PYROSCOPE_STACKTRACES] = {{1, "profile_typeID", "profileTypeID", PROFILE_TYPE},
				   {2, "label_selector", "labelSelector", SELECTOR},
				   {3, "start", "start", START},
				   {4, "end", "end", END},
				   {5, "max_nodes", "maxNodes", NODES_MAX},
				   {6, "format", "format", REFUSED_ABOVE},
				   {7, "stack_trace_selector", "stackTraceSelector", REFUSED},
				   {8, "profile_id_selector", "profileIdSelector", REFUSED}},
	[PYROSCOPE_SELECT_SERIES] = {{1, "profile_typeID", "profileTypeID", PROFILE_TYPE},
				     {2, "label_selector", "labelSelector", SELECTOR},
				     {3, "start", "start", START},
				     {4, "end", "end", END},
				     {5, "group_by", "groupBy", NAME},
				     {6, "step", "step", STEP},
				     {7, "aggregation", "aggregation", REFUSED_NUMBER},
				     {8, "stack_trace_selector", "stackTraceSelector", REFUSED},
				     {9, "limit", "limit", LIMIT}},
	[PYROSCOPE_STATS] = {{0}},
};

/* The names of enumerations that JSON may have in place of the numbers that are supported. */
static const char *const usual_names[] = {"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH",
					  "TIME_SERIES_AGGREGATION_TYPE_SUM"};

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot read the request");
}

static int damaged(struct fail *why)
{
	return fail(why, -EBADMSG, "send what querier.v1 of Pyroscope defines",
		    "cannot read the request: it is another message, or damaged");
}

static int refuse(const struct field *field, struct fail *why)
{
	return fail(why, -EOPNOTSUPP, NULL, "%s is not supported", field->name);
}

static int set_text(const struct field *field, const char *value, size_t size,
		    struct pyroscope_query *query, struct fail *why)
{
	char *text, **to = field->meaning == LABEL ? &query->label : &query->profile_type;
	int err = 0;

	if (size > TEXT_MAX || memchr(value, 0, size))
		return fail(why, -EINVAL, NULL, "%s is longer than %d bytes, or has a zero byte",
			    field->name, TEXT_MAX);
	if (field->meaning == NAME && query->names.count == NAMES_MAX)
		return fail(why, -E2BIG, NULL, "%s has more than %d names", field->name, NAMES_MAX);
	text = strndup(value, size);
	if (!text)
		return no_memory(why);
	switch (field->meaning) {
	case SELECTOR:
		err = pyroscope_selector_parse(text, query, why);
		free(text);
		return err;
	case NAME:
		if (vec_push(&query->names, text))
			return 0;
		free(text);
		return no_memory(why);
	case LABEL:
	case PROFILE_TYPE:
		free(*to);
		*to = text;
		return 0;
	default:
		free(text);
		return field->meaning == REFUSED ? refuse(field, why) : damaged(why);
	}
}

/* Refuses numbers that are negative, or too large to be a time in ms. */
static int set_number(const struct field *field, uint64_t value, struct pyroscope_query *query,
		      struct fail *why)
{
	if (value > INT64_MAX / 1000000)
		return fail(why, -EINVAL, NULL, "%s is out of range", field->name);
	switch (field->meaning) {
	case START:
		query->start = value;
		return 0;
	case END:
		query->end = value;
		return 0;
	case NODES_MAX:
		query->nodes_max = value;
		return 0;
	case LIMIT:
		query->limit = value;
		return 0;
	case REFUSED_ABOVE:
		return value > 1 ? refuse(field, why) : 0;
	case REFUSED_NUMBER:
		return value ? refuse(field, why) : 0;
	default:
		return damaged(why);
	}
}

static int set_step(double step, struct pyroscope_query *query, struct fail *why)
{
	if (!isfinite(step) || step < 0)
		return fail(why, -EINVAL, NULL, "step is out of range");
	query->step = step;
	return 0;
}

static int set_from_protobuf(const struct field *field, const struct proto_field *of,
			     struct pyroscope_query *query, struct fail *why)
{
	double step;

	if (field->meaning == STEP && of->wire == PROTO_FIXED64) {
		memcpy(&step, &of->value, sizeof(step));
		return set_step(step, query, why);
	}
	if (of->wire == PROTO_VARINT)
		return set_number(field, of->value, query, why);
	if (of->wire == PROTO_BYTES)
		return set_text(field, (const char *)of->bytes.at, bytes_left(&of->bytes), query,
				why);
	return damaged(why);
}

static int read_protobuf(const struct field *known, const void *body, size_t size,
			 struct pyroscope_query *query, struct fail *why)
{
	struct bytes message = {body, (const uint8_t *)body + size, false};
	struct proto_field of;
	int err = 0;

	while (!err && proto_next(&message, &of))
		for (const struct field *field = known; field->meaning; field++)
			if (field->number == of.number) {
				err = set_from_protobuf(field, &of, query, why);
				break;
			}
	return !err && message.failed ? damaged(why) : err;
}

/* A number of 64 bits is a text in JSON; readers accept both. */
static int set_from_text(const struct field *field, const char *text, size_t size,
			 struct pyroscope_query *query, struct fail *why)
{
	uint64_t number;

	if (field->meaning >= START && field->meaning <= LIMIT)
		return text_parse_u64(text, 0, INT64_MAX, &number)
			       ? damaged(why)
			       : set_number(field, number, query, why);
	for (size_t i = 0; i < sizeof(usual_names) / sizeof(usual_names[0]); i++)
		if (field->meaning > REFUSED && !strcmp(usual_names[i], text))
			return 0;
	return field->meaning > REFUSED ? refuse(field, why)
					: set_text(field, text, size, query, why);
}

static int set_from_json(const struct field *field, const json_t *value,
			 struct pyroscope_query *query, struct fail *why)
{
	if (json_is_null(value))
		return 0;
	if (json_is_array(value)) {
		int err = 0;

		for (size_t i = 0; !err && i < json_array_size(value); i++)
			err = json_is_string(json_array_get(value, i))
				      ? set_from_json(field, json_array_get(value, i), query, why)
				      : damaged(why);
		return err;
	}
	if (json_is_string(value))
		return set_from_text(field, json_string_value(value), json_string_length(value),
				     query, why);
	if (json_is_number(value) && field->meaning == STEP)
		return set_step(json_number_value(value), query, why);
	if (json_is_integer(value))
		return set_number(field, (uint64_t)json_integer_value(value), query, why);
	return field->meaning == REFUSED ? refuse(field, why) : damaged(why);
}

static int read_json(const struct field *known, const char *body, size_t size,
		     struct pyroscope_query *query, struct fail *why)
{
	json_t *all = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
	int err = json_is_object(all) ? 0 : damaged(why);

	for (const struct field *field = known; !err && field->meaning; field++) {
		const json_t *value = json_object_get(all, field->json);

		value = value ? value : json_object_get(all, field->name);
		if (value)
			err = set_from_json(field, value, query, why);
	}
	json_decref(all);
	return err;
}

int pyroscope_query_read(enum pyroscope_method method, bool is_json, const void *body, size_t size,
			 struct pyroscope_query *query, struct fail *why)
{
	int err = is_json ? read_json(fields[method], body, size, query, why)
			  : read_protobuf(fields[method], body, size, query, why);

	if (!err && query->start && query->end && query->start >= query->end)
		return fail(why, -EINVAL, NULL, "end is not after start");
	return err;
}

void pyroscope_query_free(struct pyroscope_query *query)
{
	vec_foreach (&query->matchers, matcher) {
		free(matcher->name);
		free(matcher->value);
		regex_free(matcher->regex);
	}
	vec_free(&query->matchers);
	vec_foreach (&query->names, name)
		free(*name);
	vec_free(&query->names);
	free(query->profile_type);
	free(query->label);
}
