// SPDX-License-Identifier: Apache-2.0
#include "process/smaps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* About 20,000 mappings. */
#define TEXT_MAX (16u << 20)

/* The number behind "NAME:" where the line begins with it. */
static bool parse_field(const char *line, const char *name, uint64_t *bytes)
{
	size_t length = strlen(name);
	unsigned long long kb;

	if (strncmp(line, name, length) || line[length] != ':')
		return false;
	kb = strtoull(line + length + 1, NULL, 10);
	*bytes = kb > UINT64_MAX / 1024 ? 0 : kb * 1024;
	return true;
}

uint64_t procfs_kb(const char *text, const char *name)
{
	uint64_t bytes = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (parse_field(line, name, &bytes))
			return bytes;
	}
	return 0;
}

/* Lines of a mapping begin with a capital letter, and its first one with an address. */
static bool is_field(const char *line)
{
	return *line >= 'A' && *line <= 'Z';
}

static void emit_mapping(const struct smaps_mapping *mapping,
			 void (*emit)(void *context, const struct smaps_mapping *mapping),
			 void *context)
{
	struct smaps_mapping sane = *mapping;
	uint64_t size = sane.at.end - sane.at.start;

	/* a page is there once */
	sane.rss = sane.rss > size ? size : sane.rss;
	sane.anonymous = sane.anonymous > sane.rss ? sane.rss : sane.anonymous;
	emit(context, &sane);
}

void smaps_parse(char *text, void (*emit)(void *context, const struct smaps_mapping *mapping),
		 void *context)
{
	struct smaps_mapping mapping = {0};
	bool is_open = false;
	char *next;

	for (char *line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (is_field(line)) {
			if (!parse_field(line, "Rss", &mapping.rss))
				parse_field(line, "Anonymous", &mapping.anonymous);
			continue;
		}
		if (is_open)
			emit_mapping(&mapping, emit, context);
		mapping = (struct smaps_mapping){0};
		is_open = procfs_parse_mapping(line, &mapping.at);
	}
	if (is_open)
		emit_mapping(&mapping, emit, context);
}

int smaps_read(pid_t pid, void (*emit)(void *context, const struct smaps_mapping *mapping),
	       void *context)
{
	struct buf text = {0};
	int err = procfs_read(pid, "smaps", TEXT_MAX, &text);

	if (!err || err == -EFBIG)
		smaps_parse((char *)text.at, emit, context);
	buf_free(&text);
	return err;
}
