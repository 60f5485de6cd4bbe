// SPDX-License-Identifier: Apache-2.0
#include "sources/logs/text.h"

#include <string.h>

#define LEVELS		8 /* the low bits of a priority; the others are its facility */
#define PRIORITY_DIGITS 3
#define LOOKED_AT	256 /* bytes, for whether it is data */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct logs_text logs_text_syslog(const char *at, size_t size)
{
	struct logs_text text = {.at = at, .size = size};
	unsigned int priority = 0;
	size_t i = 1;

	if (size < 3 || *at != '<')
		return text;
	for (; i < size && i <= PRIORITY_DIGITS && is_digit(at[i]); i++)
		priority = priority * 10 + (unsigned int)(at[i] - '0');
	if (i == 1 || i >= size || at[i] != '>')
		return text;
	text.at += i + 1;
	text.size -= i + 1;
	text.level = (uint8_t)(priority % LEVELS + 1);
	return text;
}

/* A field of a message: "NAME=value\n", or "NAME\n", eight bytes of a size, the value, "\n". */
struct field {
	const char *name, *value;
	size_t name_size, size;
};

/* The field at *at, and moves *at behind it. False: there is none. */
static bool next_field(const char **at, const char *end, struct field *field)
{
	size_t left = (size_t)(end - *at);
	const char *line_end = memchr(*at, '\n', left);
	size_t line = line_end ? (size_t)(line_end - *at) : left;
	const char *equals = memchr(*at, '=', line);
	uint64_t size;

	if (!line)
		return false;
	*field = (struct field){.name = *at};
	if (equals) {
		field->name_size = (size_t)(equals - *at);
		field->value = equals + 1;
		field->size = line - field->name_size - 1;
		*at += line_end ? line + 1 : line;
		return true;
	}
	field->name_size = line;
	if (!line_end || left - line - 1 < sizeof(size))
		return false;
	memcpy(&size, line_end + 1, sizeof(size));
	field->value = line_end + 1 + sizeof(size);
	left = (size_t)(end - field->value);
	/* the end of a long message may not be here */
	field->size = size < left ? (size_t)size : left;
	*at = field->value + field->size;
	*at += *at < end;
	return true;
}

static bool is_named(const struct field *field, const char *name)
{
	return field->name_size == strlen(name) && !memcmp(field->name, name, field->name_size);
}

struct logs_text logs_text_journal(const char *at, size_t size)
{
	const char *end = at + size;
	struct logs_text text = {.at = at};
	struct field field;

	while (at < end && next_field(&at, end, &field)) {
		if (is_named(&field, "MESSAGE")) {
			text.at = field.value;
			text.size = field.size;
		} else if (is_named(&field, "PRIORITY") && field.size == 1 && *field.value >= '0' &&
			   *field.value < '0' + LEVELS) {
			text.level = (uint8_t)(*field.value - '0' + 1);
		}
	}
	return text;
}

bool logs_text_is_data(const char *at, size_t size)
{
	return memchr(at, 0, size < LOOKED_AT ? size : LOOKED_AT);
}
