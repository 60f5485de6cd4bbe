// SPDX-License-Identifier: Apache-2.0
#include "exchange/pyroscope/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "film/events.h"

enum {
	PARTS_MAX = 16,
	BOUNDARY_MAX = 70, /* RFC 2046, 5.1.1 */
	PART_HEADER_MAX = 4096,
};

/* Takes blanks and quotes off both ends, in place. */
static char *trimmed(char *s)
{
	size_t length;

	s += strspn(s, " \t\"");
	length = strlen(s);
	while (length && strchr(" \t\"", s[length - 1]))
		length--;
	s[length] = 0;
	return s;
}

static void parse_labels(char *labels, struct import_origin *origin)
{
	char *pair, *value;

	while ((pair = strsep(&labels, ","))) {
		value = strchr(pair, '=');
		if (!value)
			continue;
		*value++ = 0;
		import_origin_label(origin, trimmed(pair), trimmed(value));
	}
}

/* Pyroscope's clients end names with what they measured. */
static void parse_type(char *name, char type[INGEST_TYPE_MAX + 1])
{
	char *dot = strrchr(name, '.');

	const struct event_type *usual = event_usual();
	const char *what = event_type_abroad(usual->name, usual->unit);

	if (dot && dot > name && event_is_pyroscope_ending(dot + 1)) {
		what = dot + 1;
		*dot = 0;
	}
	snprintf(type, INGEST_TYPE_MAX + 1, "%s", what);
}

void ingest_name_parse(const char *name, struct import_origin *origin,
		       char type[INGEST_TYPE_MAX + 1])
{
	char *copy = strdup(name), *labels, *end;

	*type = 0;
	if (!copy)
		return;
	labels = strchr(copy, '{');
	if (labels) {
		*labels++ = 0;
		end = strrchr(labels, '}');
		if (end)
			*end = 0;
		parse_labels(labels, origin);
	}
	parse_type(copy, type);
	if (!*origin->service)
		import_origin_label(origin, "service", trimmed(copy));
	free(copy);
}

int ingest_time_parse(const char *text, uint64_t *ns)
{
	/* 10 digits are seconds until the year 2286 */
	static const uint64_t scales[] = {[10] = 1000000000, [13] = 1000000, [16] = 1000, [19] = 1};
	size_t length = strlen(text);

	if (length >= sizeof(scales) / sizeof(scales[0]) || !scales[length] ||
	    text_parse_u64(text, 0, INT64_MAX, ns))
		return -EINVAL;
	*ns *= scales[length];
	return *ns > INT64_MAX ? -EINVAL : 0;
}

/*
 * The value of boundary= in "multipart/form-data; boundary=…", with the dashes that it is preceded
 * by.
 */
static int find_boundary(const char *type, char boundary[BOUNDARY_MAX + 3])
{
	const char *at;
	size_t length;

	if (!type || strncasecmp(type, "multipart/form-data", 19))
		return -EBADMSG;
	at = strcasestr(type, "boundary=");
	if (!at)
		return -EBADMSG;
	at += strlen("boundary=");
	if (*at == '"')
		at++;
	length = strcspn(at, "\"; \t");
	if (!length || length > BOUNDARY_MAX)
		return -EBADMSG;
	snprintf(boundary, BOUNDARY_MAX + 3, "--%.*s", (int)length, at);
	return 0;
}

/* Whether a part's header says that this is its name. */
static bool is_named(const uint8_t *header, size_t size, const char *name)
{
	char *text, wanted[64];
	bool is;

	if (size > PART_HEADER_MAX)
		return false;
	text = strndup((const char *)header, size);
	snprintf(wanted, sizeof(wanted), " name=\"%s\"", name);
	is = text && strcasestr(text, "content-disposition: form-data") && strstr(text, wanted);
	free(text);
	return is;
}

static const uint8_t *find(const uint8_t *at, const uint8_t *end, const char *what)
{
	return at < end ? memmem(at, (size_t)(end - at), what, strlen(what)) : NULL;
}

int ingest_part(const char *content_type, const uint8_t *body, size_t size, const char *name,
		const uint8_t **part, size_t *part_size)
{
	char boundary[BOUNDARY_MAX + 3], separator[BOUNDARY_MAX + 5];
	const uint8_t *end = body + size, *at, *data, *next;

	if (find_boundary(content_type, boundary))
		return -EBADMSG;
	snprintf(separator, sizeof(separator), "\r\n%s", boundary);
	at = find(body, end, boundary);
	for (int i = 0; at && i < PARTS_MAX; i++) {
		at += strlen(boundary);
		if (end - at >= 2 && !memcmp(at, "--", 2))
			return -ENOENT;
		data = find(at, end, "\r\n\r\n");
		if (!data)
			return -EBADMSG;
		/* of a part without a byte, the separator begins with its header's end */
		next = find(data + 2, end, separator);
		if (!next)
			return -EBADMSG;
		if (is_named(at, (size_t)(data - at), name)) {
			*part = data + 4;
			*part_size = next > *part ? (size_t)(next - *part) : 0;
			return 0;
		}
		at = next + 2;
	}
	return at ? -ENOENT : -EBADMSG;
}
