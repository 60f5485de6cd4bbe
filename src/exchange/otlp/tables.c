// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/tables.h"

#include <stdlib.h>
#include <string.h>

#include "exchange/otlp/keys.h"
#include "film/schema.h"

/* Frames of a stack. */
#define DEPTH_MAX 4096

const char *otlp_string(const struct otlp_tables *t, uint64_t index)
{
	return index < t->string_count ? t->strings.at[index] : "";
}

/* A text of a field that is to be one. */
static const char *keep_text(struct otlp_tables *t, const struct proto_field *field)
{
	size_t before = t->strings.count;
	char *copy;

	if (field->wire != PROTO_BYTES) {
		t->damaged = true;
		return "";
	}
	copy = strndup((const char *)field->bytes.at, bytes_left(&field->bytes));
	if (copy)
		OTLP_ADD(t, strings, 2 * OTLP_ROWS_MAX, t, copy);
	else
		t->no_memory = true;
	if (t->strings.count == before) {
		free(copy);
		return "";
	}
	return copy;
}

/* Of the values that an attribute can have, texts and numbers are understood. */
static void read_value(struct otlp_tables *t, struct bytes message,
		       struct otlp_attribute *attribute)
{
	struct proto_field field;

	while (proto_next(&message, &field)) {
		switch (field.number) {
		case 1:
			attribute->text = keep_text(t, &field);
			break;
		case 2:
		case 3:
			attribute->number = field.value;
			break;
		case 8:
			attribute->text = otlp_string(t, field.value);
			break;
		}
	}
	t->damaged |= message.failed;
}

struct otlp_attribute otlp_read_attribute(struct otlp_tables *t, struct bytes message,
					  bool in_dictionary)
{
	struct otlp_attribute attribute = {"", "", 0};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		if (field.number == 2)
			read_value(t, field.bytes, &attribute);
		else if (field.number == 1 && field.wire == PROTO_BYTES)
			attribute.key = keep_text(t, &field);
		else if (field.number == (in_dictionary ? 1 : 3))
			attribute.key = otlp_string(t, field.value);
	}
	t->damaged |= message.failed;
	return attribute;
}

static void read_mapping(struct otlp_tables *t, struct bytes message)
{
	struct otlp_mapping mapping = {0};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		switch (field.number) {
		case 1:
			mapping.start = field.value;
			break;
		case 3:
			mapping.offset = field.value;
			break;
		case 4:
			mapping.file = field.value;
			break;
		case 5:
			otlp_keep_numbers(&field, &mapping.attributes);
			break;
		}
	}
	t->damaged |= message.failed;
	OTLP_ADD(t, mappings, OTLP_ROWS_MAX, t, mapping);
}

static void read_function(struct otlp_tables *t, struct bytes message)
{
	struct otlp_function function = {0};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		switch (field.number) {
		case 1:
			function.name = field.value;
			break;
		case 2:
			function.system_name = field.value;
			break;
		case 3:
			function.file = field.value;
			break;
		}
	}
	t->damaged |= message.failed;
	OTLP_ADD(t, functions, OTLP_ROWS_MAX, t, function);
}

static void read_line(struct otlp_tables *t, struct bytes message)
{
	struct otlp_line line = {0};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		if (field.number == 1)
			line.function = field.value;
		else if (field.number == 2 && field.value <= INT32_MAX)
			line.number = (uint32_t)field.value;
	}
	t->damaged |= message.failed;
	OTLP_ADD(t, lines, OTLP_ROWS_MAX, t, line);
}

static void read_location(struct otlp_tables *t, struct bytes message)
{
	struct otlp_location location = {.first_line = (uint32_t)t->lines.count};
	struct proto_field field;

	while (proto_next(&message, &field)) {
		switch (field.number) {
		case 1:
			location.mapping = field.value;
			break;
		case 2:
			location.address = field.value;
			break;
		case 3:
			read_line(t, field.bytes);
			break;
		case 4:
			otlp_keep_numbers(&field, &location.attributes);
			break;
		}
	}
	location.lines = (uint32_t)t->lines.count - location.first_line;
	t->damaged |= message.failed;
	OTLP_ADD(t, locations, OTLP_ROWS_MAX, t, location);
}

static void read_stack(struct otlp_tables *t, struct bytes message)
{
	struct otlp_stack stack = {0};
	struct proto_field field;

	while (proto_next(&message, &field))
		if (field.number == 1)
			otlp_keep_numbers(&field, &stack.locations);
	t->damaged |= message.failed;
	OTLP_ADD(t, stacks, OTLP_ROWS_MAX, t, stack);
}

/* Strings first: attributes refer to them. */
void otlp_tables_read(struct otlp_tables *t, struct bytes dictionary)
{
	struct bytes message = dictionary;
	struct proto_field field;

	while (proto_next(&message, &field))
		if (field.number == 5 && t->strings.count < OTLP_ROWS_MAX)
			keep_text(t, &field);
		else if (field.number == 5)
			t->too_many = true;
	t->string_count = t->strings.count;
	t->damaged |= message.failed;
	while (proto_next(&dictionary, &field)) {
		if (field.number > 7)
			continue;
		if (field.wire != PROTO_BYTES) {
			t->damaged = true;
			return;
		}
		switch (field.number) {
		case 1:
			read_mapping(t, field.bytes);
			break;
		case 2:
			read_location(t, field.bytes);
			break;
		case 3:
			read_function(t, field.bytes);
			break;
		case 6:
			OTLP_ADD(t, attributes, OTLP_ROWS_MAX, t,
				 otlp_read_attribute(t, field.bytes, true));
			break;
		case 7:
			read_stack(t, field.bytes);
			break;
		}
	}
}

/* The first attribute of that key among those of a row, or null. */
static const struct otlp_attribute *find_attribute(const struct otlp_tables *t,
						   struct bytes indices, const char *key)
{
	while (!indices.failed && bytes_left(&indices)) {
		uint64_t index = bytes_varint(&indices);

		if (index < t->attributes.count && !strcmp(t->attributes.at[index].key, key))
			return &t->attributes.at[index];
	}
	return NULL;
}

static enum film_frame_kind frame_kind(const struct otlp_tables *t,
				       const struct otlp_location *location)
{
	const struct otlp_attribute *type =
		find_attribute(t, location->attributes, OTLP_FRAME_TYPE);

	return type ? otlp_frame_kind(type->text) : 0;
}

static size_t read_names(const struct otlp_tables *t, const struct otlp_location *location,
			 struct film_name names[FILM_DEPTH_MAX])
{
	size_t count = 0;

	for (uint32_t i = 0; i < location->lines && count < FILM_DEPTH_MAX; i++) {
		const struct otlp_line *line = &t->lines.at[location->first_line + i];
		const struct otlp_function *function = line->function < t->functions.count
							       ? &t->functions.at[line->function]
							       : NULL;
		const char *name = function ? otlp_string(t, function->name) : "";

		if (function && !*name)
			name = otlp_string(t, function->system_name);
		if (*name)
			names[count++] = (struct film_name){name, otlp_string(t, function->file),
							    line->number};
	}
	return count;
}

static void make_frame(struct otlp_tables *t, struct otlp_location *location)
{
	const struct otlp_mapping *mapping =
		location->mapping && location->mapping < t->mappings.count
			? &t->mappings.at[location->mapping]
			: NULL;
	const struct otlp_attribute *build_id =
		mapping ? find_attribute(t, mapping->attributes, OTLP_BUILD_ID) : NULL;
	struct film_name names[FILM_DEPTH_MAX];
	uint8_t id[FILM_BUILD_ID_MAX];
	struct import_place place = {
		.image = mapping ? otlp_string(t, mapping->file) : "",
		.build_id = id,
		.build_id_size = build_id ? import_build_id(build_id->text, id) : 0,
		.kind = frame_kind(t, location),
		.address = location->address,
		.names = names,
		.count = read_names(t, location, names),
	};

	if (mapping)
		import_place_in(&place, mapping->start, mapping->offset);
	location->frame = import_frame(t->film, &place);
}

/* The stack of the film for one of the table. */
uint32_t otlp_stack(struct otlp_tables *t, uint64_t index)
{
	struct otlp_stack *stack = index && index < t->stacks.count ? &t->stacks.at[index] : NULL;
	struct bytes numbers;
	vec(uint32_t) frames = {0};

	if (!stack || stack->id)
		return stack ? stack->id : 0;
	numbers = stack->locations;
	while (!numbers.failed && bytes_left(&numbers) && frames.count < DEPTH_MAX) {
		uint64_t location = bytes_varint(&numbers);

		if (!location || location >= t->locations.count)
			continue;
		if (!t->locations.at[location].frame)
			make_frame(t, &t->locations.at[location]);
		if (!vec_push(&frames, t->locations.at[location].frame))
			break;
	}
	for (size_t i = frames.count; i-- > 0;)
		if (frames.at[i])
			stack->id = import_stack(t->film, stack->id, frames.at[i]);
	vec_free(&frames);
	return stack->id;
}

void otlp_tables_begin(struct otlp_tables *t, struct import *film)
{
	t->film = film;
	vec_foreach (&t->locations, location)
		location->frame = 0;
	vec_foreach (&t->stacks, stack)
		stack->id = 0;
}

void otlp_tables_free(struct otlp_tables *t)
{
	vec_foreach (&t->strings, s)
		free(*s);
	vec_free(&t->strings);
	vec_free(&t->attributes);
	vec_free(&t->mappings);
	vec_free(&t->functions);
	vec_free(&t->locations);
	vec_free(&t->lines);
	vec_free(&t->stacks);
}
