// SPDX-License-Identifier: Apache-2.0
#include "mcp/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "mcp/mcp.h"

/* Keeps a part of a line, or passes over it. */
static int keep(struct mcp_lines *lines, const char *bytes, size_t size)
{
	if (lines->is_passing || size > MCP_MESSAGE_MAX - lines->count) {
		lines->is_passing = true;
		lines->count = 0;
		return 0;
	}
	if (!size)
		return 0;
	if (!vec_reserve(lines, lines->count + size))
		return -ENOMEM;
	memcpy(lines->at + lines->count, bytes, size);
	lines->count += size;
	return 0;
}

static bool is_blank(const struct mcp_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		if (!strchr(" \t\r", lines->at[i]) || !lines->at[i])
			return false;
	return true;
}

static int end_line(struct mcp_lines *lines,
		    int (*emit)(void *context, const char *line, size_t size), void *context)
{
	int err = 0;

	if (lines->is_passing)
		err = emit(context, NULL, 0);
	else if (!is_blank(lines))
		err = emit(context, lines->at, lines->count);
	lines->is_passing = false;
	lines->count = 0;
	return err;
}

int mcp_lines_add(struct mcp_lines *lines, const char *bytes, size_t size,
		  int (*emit)(void *context, const char *line, size_t size), void *context)
{
	while (size) {
		const char *end = memchr(bytes, '\n', size);
		size_t length = end ? (size_t)(end - bytes) : size;
		int err = keep(lines, bytes, length);

		if (!err && end)
			err = end_line(lines, emit, context);
		if (err)
			return err;
		length += end != NULL;
		bytes += length;
		size -= length;
	}
	return 0;
}

void mcp_lines_free(struct mcp_lines *lines)
{
	vec_free(lines);
	lines->is_passing = false;
}
