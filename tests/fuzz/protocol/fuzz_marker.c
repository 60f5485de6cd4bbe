// SPDX-License-Identifier: Apache-2.0

/*
 * What a program writes to /dev/null. For any input: each line is read once, a request has an id,
 * texts end and hold no control characters, and a line says the same wherever it stands.
 */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "protocol/marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_text(const char text[MARKER_VALUE_MAX])
{
	check(memchr(text, 0, MARKER_VALUE_MAX));
	for (; *text; text++)
		check((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void is_same_alone(const char *from, size_t size, enum marker_verb verb,
			  const struct marker *marker)
{
	/* memory of just that size, so that the sanitizer sees what is read behind it */
	char *copy = malloc(size);
	const char *at = copy;
	struct marker again;

	check(copy);
	memcpy(copy, from, size);
	check(marker_read(&at, copy + size, &again) == verb);
	check(at == copy + size);
	check(!memcmp(&again, marker, sizeof(again)));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *at = text, *end = text + size;

	check(text);
	memcpy(text, data, size);
	for (;;) {
		const char *from = at;
		struct marker marker;
		enum marker_verb verb = marker_read(&at, end, &marker);

		check(at >= from && at <= end);
		if (verb == MARKER_OVER)
			break;
		check(at > from);
		is_text(marker.id);
		is_text(marker.parent);
		is_text(marker.endpoint);
		check(verb == MARKER_STRANGE || *marker.id);
		is_same_alone(from, (size_t)(at - from), verb, &marker);
	}
	check(at == end);
	free(text);
	return 0;
}
