/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_ARGUMENTS_H
#define MCP_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/json.h"
#include "mcp/input.h"
#include "query/question.h"

/* All arguments that tools have; what one is called means the same in each tool. */
enum mcp_argument {
	ARGUMENT_FILM,
	ARGUMENT_BEFORE,
	ARGUMENT_EVENT,
	ARGUMENT_EVENTS,
	ARGUMENT_PROCESS,
	ARGUMENT_THREAD,
	ARGUMENT_NAME,
	ARGUMENT_FROM,
	ARGUMENT_TO,
	ARGUMENT_FUNCTION,
	ARGUMENT_SORT,
	ARGUMENT_GROWN,
	ARGUMENT_REQUEST,
	ARGUMENT_ENDPOINT,
	ARGUMENT_LIMIT,
	ARGUMENT_OFFSET,
	ARGUMENT_SECONDS,
	ARGUMENTS
};

#define ARGUMENT_BIT(argument) (1u << (argument))

/* Those that choose what of a film counts. */
#define ARGUMENTS_OF_FILTER                                             \
	(ARGUMENT_BIT(ARGUMENT_PROCESS) | ARGUMENT_BIT(ARGUMENT_NAME) | \
	 ARGUMENT_BIT(ARGUMENT_FROM) | ARGUMENT_BIT(ARGUMENT_TO))

/* What a client gave, checked. */
struct mcp_arguments {
	const char *texts[ARGUMENTS]; /* null: not given */
	uint64_t numbers[ARGUMENTS];  /* of those that are numbers; 0: not given */
	char words[ARGUMENTS][24];    /* the same as text */
};

/*
 * Parses the arguments of a tool: taken and needed are bits of those that it has, and that it
 * cannot do without. object: null: none were given. The strings are the object's. 0 or -EINVAL with
 * *why filled: one is unknown, of another type, too long, out of its range, or not there.
 */
int mcp_arguments_parse(const json_t *object, uint32_t taken, uint32_t needed,
			struct mcp_arguments *arguments, struct fail *why);

/* The JSON schema of them, a value of that key. */
void mcp_arguments_describe(struct json *j, const char *key, uint32_t taken, uint32_t needed);

/*
 * The question that they ask. question_free() is needed in either case; 0 or a negative errno with
 * *why filled. The arguments must outlive it.
 */
int mcp_arguments_question(const struct mcp_arguments *arguments, struct question *q,
			   struct fail *why);

#endif
