// SPDX-License-Identifier: Apache-2.0
/*
 * What comes to /ingest as text: by the first byte a name with labels, a time, a form with its
 * parts, or stacks line by line.
 */
#include <stdlib.h>
#include <string.h>

#include "exchange/folded/reader.h"
#include "exchange/pyroscope/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(const char *text)
{
	static struct import_origin origin;
	char type[INGEST_TYPE_MAX + 1], label[FILM_LABEL_KEY_MAX + 1];
	const char *at = origin.labels, *value;
	size_t length;
	uint64_t ns;

	memset(&origin, 0, sizeof(origin));
	ingest_name_parse(text, &origin, type);
	while ((value = film_labels_next(&at, label, &length)))
		if (!film_label_key_ok(label, strlen(label)) || !film_label_value_ok(value, length))
			abort();
	if (!ingest_time_parse(text, &ns) && ns > INT64_MAX)
		abort();
}

/* The first line is the type of the content. */
static void form(const char *text, const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size), *body, *part;
	size_t part_size;
	char *type;

	if (!newline)
		return;
	type = strndup(text, (size_t)(newline - data));
	body = newline + 1;
	size -= (size_t)(body - data);
	if (type && !ingest_part(type, body, size, "profile", &part, &part_size) &&
	    (part < body || part > body + size || part_size > (size_t)(body + size - part)))
		abort();
	free(type);
}

static void stacks(const uint8_t *data, size_t size)
{
	static const struct import_origin origin = {.host = "host"};
	const struct import_span span = {1000000000, 2000000000};
	struct folded_values what = {.service = "service", .weight = 10000000};
	struct import *film;
	struct fail why;

	if (import_new(NULL, &origin, &span, &film, &why))
		return;
	what.type = import_event(film, "cpu", "ns");
	what.is_counted = size & 1;
	what.has_numbers = size & 2;
	folded_import(data, size, &what, film, &why);
	import_close(film, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = size ? malloc(size) : NULL;

	if (!text)
		return 0;
	/* a copy with an end, and the rest without one */
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (*data % 3) {
	case 0:
		name(text);
		break;
	case 1:
		form(text, data + 1, size - 1);
		break;
	default:
		stacks(data + 1, size - 1);
	}
	free(text);
	return 0;
}
