// SPDX-License-Identifier: Apache-2.0
#include "exchange/folded/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
	LINE_MAX_BYTES = 64 << 10,
	DEPTH_MAX = 4096, /* frames of a stack */
};

/* Cuts "STACK NUMBER" in two. False: it is none. */
static bool cut_number(char *line, uint64_t *value)
{
	char *blank = strrchr(line, ' ');

	if (!blank || text_parse_u64(blank + 1, 0, INT64_MAX, value))
		return false;
	while (blank > line && blank[-1] == ' ')
		blank--;
	*blank = 0;
	return true;
}

/* False: there are too many frames. */
static bool make_stack(struct import *film, char *names, uint32_t *stack)
{
	uint32_t depth = 0;
	char *rest = names, *name;

	*stack = 0;
	while ((name = strsep(&rest, ";"))) {
		const struct film_name named = {name, "", 0};
		const struct import_place place = {.image = "", .names = &named, .count = 1};

		if (!*name)
			continue;
		if (depth++ >= DEPTH_MAX)
			return false;
		*stack = import_stack(film, *stack, import_frame(film, &place));
	}
	return true;
}

static bool emit_line(char *line, const struct folded_values *what, uint32_t thread,
		      struct import *film)
{
	uint64_t value = 1, weighed;
	uint32_t stack;

	if (what->has_numbers && !cut_number(line, &value))
		return false;
	if (!value)
		return true;
	if (!*line || __builtin_mul_overflow(value, what->weight, &weighed) ||
	    !make_stack(film, line, &stack))
		return false;
	import_samples(film, what->type, thread, stack, what->is_counted ? value : 1, weighed);
	return true;
}

int folded_import(const uint8_t *text, size_t size, const struct folded_values *what,
		  struct import *film, struct fail *why)
{
	const struct import_thread nobody = {what->service, 0, 0, "", "", ""};
	uint32_t thread = import_thread(film, &nobody);
	const char *at = (const char *)text, *end = at + size;
	char *line = malloc(LINE_MAX_BYTES + 1);
	uint64_t good = 0, bad = 0;

	if (!line)
		return fail_errno(why, -ENOMEM, NULL, "cannot take this profile");
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		/* a line with a zero byte in it would be another one than it seems */
		if (length <= LINE_MAX_BYTES && !memchr(at, 0, length)) {
			memcpy(line, at, length);
			while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
				length--;
			line[length] = 0;
			if (length && emit_line(line, what, thread, film))
				good++;
			else
				bad += length != 0;
		} else {
			bad++;
		}
		at = newline ? newline + 1 : end;
	}
	free(line);
	import_lost(film, bad);
	if (bad && !good)
		return fail(why, -EBADMSG, "send a stack a line, \"main;work;read 12\"",
			    "cannot take this profile: it has no line with a stack and a number");
	return 0;
}
