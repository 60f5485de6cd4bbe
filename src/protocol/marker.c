// SPDX-License-Identifier: Apache-2.0
#include "protocol/marker.h"

#include <string.h>

#include "protocol/protocol.h"

static const char begins[] = "stackcam: ";

struct line {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct line *line)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
}

/* A word up to a blank, or to that character. Returns its length. */
static size_t parse_word(struct line *line, char until)
{
	const char *from = line->at;

	while (line->at < line->end && !is_blank(*line->at) && *line->at != until)
		line->at++;
	return (size_t)(line->at - from);
}

/* False: it does not end, or is too long. */
static bool parse_quoted(struct line *line, char value[MARKER_VALUE_MAX], size_t *size)
{
	for (line->at++; line->at < line->end; line->at++) {
		char c = *line->at;

		if (c == '"') {
			line->at++;
			return line->at == line->end || is_blank(*line->at);
		}
		if (c == '\\' && line->end - line->at > 1)
			c = *++line->at;
		if (*size + 1 >= MARKER_VALUE_MAX)
			return false;
		value[(*size)++] = c;
	}
	return false;
}

static bool parse_value(struct line *line, char to[MARKER_VALUE_MAX])
{
	char value[MARKER_VALUE_MAX];
	const char *from = line->at;
	size_t size = 0;

	if (line->at < line->end && *line->at == '"') {
		if (!parse_quoted(line, value, &size))
			return false;
		from = value;
	} else {
		size = parse_word(line, 0);
	}
	/* a zero within it would make two ids one */
	return size && size < MARKER_VALUE_MAX &&
	       protocol_put_text(to, MARKER_VALUE_MAX, from, size);
}

/* A status is "ok", "failed", or a number: that of a program's exit, of which 0 is good. */
static bool read_status(const char *text, struct marker *marker)
{
	size_t digits = strspn(text, "0123456789");

	marker->failed = strcmp(text, "ok") != 0;
	if (!marker->failed || !strcmp(text, "failed"))
		return true;
	if (!digits || digits > 6 || text[digits])
		return false;
	for (; *text; text++)
		marker->status = marker->status * 10 + (uint32_t)(*text - '0');
	marker->failed = marker->status;
	return true;
}

static bool is_word(const char *word, size_t size, const char *wanted)
{
	return strlen(wanted) == size && !memcmp(word, wanted, size);
}

/* KEY=VALUE. False: it is none, or its value cannot be. */
static bool parse_field(struct line *line, struct marker *marker)
{
	char value[MARKER_VALUE_MAX], *to = NULL;
	const char *key = line->at;
	size_t size = parse_word(line, '=');

	if (!size || line->at == line->end || *line->at != '=')
		return false;
	line->at++;
	if (!parse_value(line, value))
		return false;
	if (is_word(key, size, "status"))
		return read_status(value, marker);
	if (is_word(key, size, "id"))
		to = marker->id;
	else if (is_word(key, size, "parent"))
		to = marker->parent;
	else if (is_word(key, size, "endpoint"))
		to = marker->endpoint;
	/* two of one kind contradict each other */
	if (to && *to)
		return false;
	if (to)
		strcpy(to, value);
	return true;
}

static enum marker_verb read_line(struct line *line, struct marker *marker)
{
	size_t length = sizeof(begins) - 1;
	enum marker_verb verb = MARKER_STRANGE;
	const char *word;
	size_t size;

	if ((size_t)(line->end - line->at) < length || memcmp(line->at, begins, length) != 0)
		return MARKER_STRANGE;
	line->at += length;
	skip_blanks(line);
	word = line->at;
	size = parse_word(line, 0);
	if (is_word(word, size, "begin"))
		verb = MARKER_BEGIN;
	else if (is_word(word, size, "end"))
		verb = MARKER_END;
	for (skip_blanks(line); line->at < line->end; skip_blanks(line))
		if (!parse_field(line, marker))
			return MARKER_STRANGE;
	return *marker->id ? verb : MARKER_STRANGE;
}

enum marker_verb marker_read(const char **at, const char *end, struct marker *marker)
{
	struct line line = {*at, end};
	const char *next;

	memset(marker, 0, sizeof(*marker));
	while (line.at < end && (is_blank(*line.at) || *line.at == '\n'))
		line.at++;
	*at = line.at;
	if (line.at == end)
		return MARKER_OVER;
	next = memchr(line.at, '\n', (size_t)(end - line.at));
	line.end = next ? next : end;
	*at = next ? next + 1 : end;
	return read_line(&line, marker);
}
