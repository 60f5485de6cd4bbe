// SPDX-License-Identifier: Apache-2.0
#include "film/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *name_of_image(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && slash[1])
		return slash + 1;
	return *path ? path : NAME_UNKNOWN;
}

const char *name_of_place(const struct film *film, const struct film_frame *frame, char *to,
			  size_t size)
{
	const char *image = name_of_image(film->images[frame->image].path);

	uint64_t place = frame->start ? frame->start : frame->address;
	bool is_guess = frame->start && !strcmp(frame->file, FILM_START_DECODED);

	/*
	 * JIT code lies elsewhere in each run, so its addresses say nothing: all JIT code is one
	 * place
	 */
	if (frame->kind == FILM_FRAME_JIT)
		snprintf(to, size, "%.200s", image);
	else
		snprintf(to, size, "%.200s+0x%" PRIx64 "%s", image, place,
			 is_guess ? NAME_GUESSED : "");
	return to;
}

/* The comma before the next "key=", or null: others are part of a value. */
static char *end_of_value(char *value)
{
	char *comma = strchr(value, ','), *next;

	for (; comma; comma = next) {
		next = strchr(comma + 1, ',');
		if (strcspn(comma + 1, "=") < strcspn(comma + 1, ","))
			return comma;
	}
	return NULL;
}

bool name_next_label(char **rest, const char **key, const char **value)
{
	char *equals = *rest ? strchr(*rest, '=') : NULL, *end;

	if (!equals)
		return false;
	*key = *rest;
	*equals = 0;
	*value = equals + 1;
	end = end_of_value(equals + 1);
	if (end)
		*end++ = 0;
	*rest = end;
	return true;
}
