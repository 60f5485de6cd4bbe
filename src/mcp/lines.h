/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_LINES_H
#define MCP_LINES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Messages from a stream of bytes, one a line. A line of more than MCP_MESSAGE_MAX bytes is not
 * kept: it is passed over up to its end, and reported once. All zero is empty.
 */
struct mcp_lines {
	char *at;
	size_t count, room;
	bool is_passing;
};

/*
 * Adds bytes, and calls emit() with each line that ends in them, without its end; with a null line
 * for one that was too long. A blank line is none. A value of emit() other than 0 ends it and is
 * returned. 0 or -ENOMEM.
 */
int mcp_lines_add(struct mcp_lines *lines, const char *bytes, size_t size,
		  int (*emit)(void *context, const char *line, size_t size), void *context);
void mcp_lines_free(struct mcp_lines *lines);

#endif
