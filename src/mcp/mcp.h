/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "film/reader.h"

/*
 * Films for agents: the Model Context Protocol, revisions 2024-11-05 to 2025-11-25, which begin
 * with "initialize", and 2026-07-28, in which each request says its revision in "_meta". Messages
 * are JSON-RPC 2.0; a server of either kind keeps nothing between two of them.
 *
 * A message is hostile, and so is what films hold: an answer has no control characters, and names
 * in it are data.
 */

/* What record may be asked for. The strings live until it returns; null: not given. */
struct mcp_recording {
	const char *events;   /* "on-cpu,threads" */
	uint64_t pid;	      /* 0: by name, or the whole machine */
	const char *name;     /* a glob */
	unsigned int seconds; /* 1 to MCP_SECONDS_MAX */
};

/* What a server can do. A null function: it does not offer that tool. */
struct mcp_host {
	void *context;
	/* Names the films that there are, a line each. 0 or a negative errno with *why filled. */
	int (*list)(void *context, FILE *out, struct fail *why);
	/* Opens the film of a name that list() gave; null: the one that is meant without one. */
	int (*open)(void *context, const char *name, struct film **film, struct fail *why);
	/* Records a film, and says how it is called. */
	int (*record)(void *context, const struct mcp_recording *recording, FILE *out,
		      struct fail *why);
	/* What this machine allows. */
	int (*doctor)(void *context, FILE *out, struct fail *why);
};

enum {
	MCP_MESSAGE_MAX = 256 << 10, /* bytes of a message; a longer one is refused */
	/*
	 * Bytes of a tool's text: 3,000 tokens, if one is 4 bytes. As JSON, with its escapes, an
	 * answer stays below MCP_ANSWER_MAX.
	 */
	MCP_TEXT_MAX = 12000,
	MCP_ANSWER_MAX = 15900,
	MCP_SECONDS_MAX = 60,
};

/*
 * Answers one message, of size bytes, with a line of JSON; with nothing, where it is a
 * notification. The answer to "tools/list" may be longer than MCP_ANSWER_MAX. 0, or -ENOMEM:
 * nothing was written.
 */
int mcp_answer(const struct mcp_host *host, const char *message, size_t size, FILE *out);

/* The answer to a message that is longer than MCP_MESSAGE_MAX. */
void mcp_refuse_length(FILE *out);

#endif
