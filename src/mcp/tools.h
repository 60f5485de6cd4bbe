/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "mcp/arguments.h"
#include "mcp/mcp.h"

/* A call of a tool. */
struct mcp_call {
	const struct mcp_host *host;
	struct mcp_arguments arguments;
	FILE *out; /* text; it never fails until it is closed */
	struct fail *why;
};

/* 0, or a negative errno with *call->why filled: the client gets these words. */
typedef int mcp_tool_function(struct mcp_call *call);

/* One row per tool, a table in tools.c; one file has those that are alike. */
mcp_tool_function mcp_tool_films, mcp_tool_summary, mcp_tool_functions, mcp_tool_around,
	mcp_tool_waits, mcp_tool_requests, mcp_tool_explain, mcp_tool_diff, mcp_tool_record,
	mcp_tool_doctor;

/* The array of all tools that a host offers, a value of that key. */
void mcp_tools_describe(struct json *j, const char *key, const struct mcp_host *host);

struct mcp_tool;

/* Null: the host has none of that name. */
const struct mcp_tool *mcp_tool_find(const struct mcp_host *host, const char *name);

/*
 * A copy of a text of size bytes, cut at the end of a line, so that it has at most that many (200
 * or more) with a line that says how much was left out. To be freed; null: no memory.
 */
char *mcp_text_cut(const char *text, size_t size, size_t most);

/*
 * Calls a tool: *text becomes its whole answer, of any length, or why there is none, to be freed.
 * 0: it has answered, 1: it has not, -ENOMEM.
 */
int mcp_tool_call(const struct mcp_tool *tool, const struct mcp_host *host, const json_t *arguments,
		  char **text);

/* What tools share: a film that is asked a question. All zero is nothing. */
struct mcp_asked {
	struct film *film;
	struct question question;
	size_t limit, offset; /* of rows */
};

/*
 * Opens the film, of which the answer's first line says if it was cut off, and takes the question.
 * 0 or a negative errno; mcp_asked_free() in either case.
 */
int mcp_ask(struct mcp_call *call, size_t limit, struct mcp_asked *asked);
void mcp_asked_free(struct mcp_asked *asked);

#endif
