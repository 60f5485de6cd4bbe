// SPDX-License-Identifier: Apache-2.0
#include "mcp/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/words.h"

struct mcp_tool {
	const char *name, *title, *about;
	uint32_t taken, needed; /* bits of arguments */
	bool writes;		/* it makes a film; else it changes nothing */
	mcp_tool_function *run;
};

#define BIT	ARGUMENT_BIT
#define OF_FILM (BIT(ARGUMENT_FILM) | ARGUMENTS_OF_FILTER)

/* At most ten: a client pays for each description in every turn. */
static const struct mcp_tool tools[] = {
	{"films", "List films", "Lists the films (recordings) that the other tools can read.",
	 .run = mcp_tool_films},
	{"summary", "Sum up a film",
	 "Start here: one page on what a film holds (machine, events, processes, losses) and what "
	 "stands out: hottest functions, longest waits, contended locks, slowest endpoints, "
	 "growing "
	 "memory.",
	 OF_FILM | BIT(ARGUMENT_EVENT), .run = mcp_tool_summary},
	{"functions", "Functions that took most",
	 "The functions of one event by what was spent in them: CPU time, waits, bytes. Each has "
	 "an "
	 "id for callers_and_callees.",
	 OF_FILM | BIT(ARGUMENT_EVENT) | BIT(ARGUMENT_SORT) | BIT(ARGUMENT_GROWN) |
		 BIT(ARGUMENT_REQUEST) | BIT(ARGUMENT_LIMIT) | BIT(ARGUMENT_OFFSET),
	 .run = mcp_tool_functions},
	{"callers_and_callees", "Around a function",
	 "Trees of what called one function, and of what it called, with the share of each.",
	 OF_FILM | BIT(ARGUMENT_EVENT) | BIT(ARGUMENT_FUNCTION) | BIT(ARGUMENT_GROWN) |
		 BIT(ARGUMENT_REQUEST),
	 BIT(ARGUMENT_FUNCTION), .run = mcp_tool_around},
	{"waits_and_locks", "Waits and locks",
	 "What threads waited for: classes of waits with their stacks, locks with their holders, "
	 "files and connections. Needs off-cpu, lock or threads in the film.",
	 OF_FILM | BIT(ARGUMENT_LIMIT), .run = mcp_tool_waits},
	{"slow_requests", "Slow requests",
	 "Endpoints with counts and quantiles, and the slowest requests with ids for explain. "
	 "Needs "
	 "requests in the film.",
	 OF_FILM | BIT(ARGUMENT_LIMIT), .run = mcp_tool_requests},
	{"explain", "Why it took so long",
	 "Says in sentences why a request (or, without requests, a thread) took as long as it did; "
	 "the parts add up. Default: the slowest request. Needs threads in the film.",
	 OF_FILM | BIT(ARGUMENT_THREAD) | BIT(ARGUMENT_REQUEST) | BIT(ARGUMENT_ENDPOINT) |
		 BIT(ARGUMENT_LIMIT),
	 .run = mcp_tool_explain},
	{"diff", "Compare two films",
	 "The functions whose share changed most between two films, before and film.",
	 OF_FILM | BIT(ARGUMENT_BEFORE) | BIT(ARGUMENT_EVENT) | BIT(ARGUMENT_LIMIT),
	 BIT(ARGUMENT_BEFORE), .run = mcp_tool_diff},
	{"record", "Record a film",
	 "Records a process, or the whole machine, for some seconds and answers with the film's "
	 "name.",
	 BIT(ARGUMENT_EVENTS) | BIT(ARGUMENT_PROCESS) | BIT(ARGUMENT_NAME) | BIT(ARGUMENT_SECONDS),
	 BIT(ARGUMENT_SECONDS), .writes = true, .run = mcp_tool_record},
	{"doctor", "What can be recorded here",
	 "Says what this kernel and this user allow to be recorded, and what is missing.",
	 .run = mcp_tool_doctor},
};

_Static_assert(sizeof(tools) / sizeof(tools[0]) <= 10, "a client pays for each tool");

static bool offers(const struct mcp_host *host, const struct mcp_tool *tool)
{
	if (tool->run == mcp_tool_record)
		return host->record;
	if (tool->run == mcp_tool_doctor)
		return host->doctor;
	return true;
}

static void describe(struct json *j, const struct mcp_tool *tool)
{
	json_open(j, NULL, '{');
	json_text(j, "name", tool->name);
	json_text(j, "title", tool->title);
	json_text(j, "description", tool->about);
	mcp_arguments_describe(j, "inputSchema", tool->taken, tool->needed);
	json_open(j, "annotations", '{');
	json_bool(j, "readOnlyHint", !tool->writes);
	json_bool(j, "destructiveHint", false);
	json_bool(j, "idempotentHint", !tool->writes);
	json_bool(j, "openWorldHint", false);
	json_close(j, '}');
	json_close(j, '}');
}

void mcp_tools_describe(struct json *j, const char *key, const struct mcp_host *host)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (offers(host, &tools[i]))
			describe(j, &tools[i]);
	json_close(j, ']');
}

const struct mcp_tool *mcp_tool_find(const struct mcp_host *host, const char *name)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (!strcmp(tools[i].name, name) && offers(host, &tools[i]))
			return &tools[i];
	return NULL;
}

/* Why there is no answer, as a sentence. */
static char *words_of(const struct fail *why)
{
	char what[sizeof(why->what) * 4], to_do[sizeof(why->to_do) * 4], *words = NULL;

	text_make_safe(what, sizeof(what), why->what);
	text_make_safe(to_do, sizeof(to_do), why->to_do);
	return asprintf(&words, "%s%s%s", what, *to_do ? "; " : "", to_do) < 0 ? NULL : words;
}

char *mcp_text_cut(const char *text, size_t size, size_t most)
{
	enum {
		NOTE = 128 /* bytes, at most */
	};
	size_t length = most - NOTE;
	char *shorter = NULL;

	if (size <= most)
		return strdup(text);
	while (length && text[length - 1] != '\n')
		length--;
	/* one line that is longer than all */
	if (!length)
		length = most - NOTE;
	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	if (asprintf(&shorter,
		     "%.*s\n[cut: %zu of %zu bytes left out; ask for less: limit, process, name, "
		     "from, to]\n",
		     (int)length, text, size - length, size) < 0)
		return NULL;
	return shorter;
}

int mcp_tool_call(const struct mcp_tool *tool, const struct mcp_host *host, const json_t *arguments,
		  char **text)
{
	struct fail why = {0};
	size_t size = 0;
	struct mcp_call call = {.host = host, .why = &why};
	int err;

	*text = NULL;
	err = mcp_arguments_parse(arguments, tool->taken, tool->needed, &call.arguments, &why);
	if (!err) {
		call.out = open_memstream(text, &size);
		if (!call.out)
			return -ENOMEM;
		err = tool->run(&call);
		if (fclose(call.out)) {
			free(*text);
			*text = NULL;
			return -ENOMEM;
		}
	}
	if (err) {
		free(*text);
		*text = words_of(&why);
	}
	return *text ? err != 0 : -ENOMEM;
}

int mcp_ask(struct mcp_call *call, size_t limit, struct mcp_asked *asked)
{
	const struct mcp_arguments *arguments = &call->arguments;
	int err;

	*asked = (struct mcp_asked){
		.limit = arguments->texts[ARGUMENT_LIMIT] ? arguments->numbers[ARGUMENT_LIMIT]
							  : limit,
		.offset = arguments->numbers[ARGUMENT_OFFSET],
	};
	err = mcp_arguments_question(arguments, &asked->question, call->why);
	if (err == -ENOMEM)
		return fail_errno(call->why, err, NULL, "cannot take the question");
	if (!err)
		err = call->host->open(call->host->context, arguments->texts[ARGUMENT_FILM],
				       &asked->film, call->why);
	if (!err) {
		film_look_at_end(asked->film);
		words_cut_off(asked->film, NULL, call->out);
	}
	return err;
}

void mcp_asked_free(struct mcp_asked *asked)
{
	film_free(asked->film);
	question_free(&asked->question);
}
