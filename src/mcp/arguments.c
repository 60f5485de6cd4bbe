// SPDX-License-Identifier: Apache-2.0
#include "mcp/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

static const struct row {
	const char *name;
	const char *about;
	uint64_t most;	/* of a number; 0: it is a text */
	uint64_t least; /* of a number */
	size_t length;	/* of a text, bytes */
} rows[ARGUMENTS] = {
	[ARGUMENT_FILM] = {"film", "Name of a film, as films lists them. Default: the newest.",
			   .length = 512},
	[ARGUMENT_BEFORE] = {"before", "Name of the film to compare with.", .length = 512},
	[ARGUMENT_EVENT] = {"event",
			    "An event of the film, such as on-cpu, off-cpu, mem-alloc; summary "
			    "lists them. Default: its first.",
			    .length = 64},
	[ARGUMENT_EVENTS] = {"events",
			     "What to record, with commas: on-cpu, off-cpu, lock, threads, "
			     "requests, mem-alloc, … Default: on-cpu,off-cpu,lock.",
			     .length = 256},
	[ARGUMENT_PROCESS] = {"process", "Only this process, by its pid.", .most = UINT32_MAX,
			      .least = 1},
	[ARGUMENT_THREAD] = {"thread", "This thread, by its tid.", .most = UINT32_MAX, .least = 1},
	[ARGUMENT_NAME] = {"name", "Only threads or processes whose name matches this glob.",
			   .length = 64},
	[ARGUMENT_FROM] = {"from",
			   "Only from this time on: 2.5s after the film's start, or 14:32:08.",
			   .length = 64},
	[ARGUMENT_TO] = {"to", "Only until this time.", .length = 64},
	[ARGUMENT_FUNCTION] = {"function",
			       "A function: its id (f and 8 digits, from functions), its name, or "
			       "a glob such as *parse*.",
			       .length = 4096},
	[ARGUMENT_SORT] = {"sort", "self (default) or total; of calls also calls, avg, max, p99.",
			   .length = 16},
	[ARGUMENT_GROWN] = {"grown",
			    "Of memory in use: only what grew within this time, such as 10s.",
			    .length = 32},
	[ARGUMENT_REQUEST] = {"request", "A request, by its id from slow_requests.", .length = 256},
	[ARGUMENT_ENDPOINT] = {"endpoint", "Requests of endpoints that match: 'GET /orders/*'.",
			       .length = 256},
	[ARGUMENT_LIMIT] = {"limit", "Rows of the answer, or of each kind in it.", .most = 100,
			    .least = 1},
	[ARGUMENT_OFFSET] = {"offset", "Rows to pass over before the first one.", .most = 1000000},
	[ARGUMENT_SECONDS] = {"seconds", "How long to record.", .most = 60, .least = 1},
};

static int find(const char *name, uint32_t taken)
{
	for (int i = 0; i < ARGUMENTS; i++)
		if (taken & ARGUMENT_BIT(i) && !strcmp(rows[i].name, name))
			return i;
	return -1;
}

static int refuse_unknown(const char *name, uint32_t taken, struct fail *why)
{
	struct nearest nearest = {.given = name};

	for (int i = 0; i < ARGUMENTS; i++)
		if (taken & ARGUMENT_BIT(i))
			nearest_offer(&nearest, rows[i].name);
	if (nearest.name)
		return fail(why, -EINVAL, NULL, "unknown argument '%.64s'; did you mean '%s'", name,
			    nearest.name);
	return fail(why, -EINVAL, NULL, "unknown argument '%.64s'", name);
}

static int parse_number(int i, const json_t *value, struct mcp_arguments *arguments,
			struct fail *why)
{
	const struct row *row = &rows[i];
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < (json_int_t)row->least ||
	    number > (json_int_t)row->most)
		return fail(why, -EINVAL, NULL,
			    "%s must be a whole number from %" PRIu64 " to %" PRIu64, row->name,
			    row->least, row->most);
	arguments->numbers[i] = (uint64_t)number;
	snprintf(arguments->words[i], sizeof(arguments->words[i]), "%" PRIu64, (uint64_t)number);
	arguments->texts[i] = arguments->words[i];
	return 0;
}

static int parse_text(int i, const json_t *value, struct mcp_arguments *arguments, struct fail *why)
{
	const struct row *row = &rows[i];

	if (!json_is_string(value) || !json_string_length(value) ||
	    json_string_length(value) > row->length)
		return fail(why, -EINVAL, NULL, "%s must be a string of 1 to %zu bytes", row->name,
			    row->length);
	/* jansson takes no strings with zero bytes, unless it is asked to */
	arguments->texts[i] = json_string_value(value);
	return 0;
}

int mcp_arguments_parse(const json_t *object, uint32_t taken, uint32_t needed,
			struct mcp_arguments *arguments, struct fail *why)
{
	const char *name;
	json_t *value;

	*arguments = (struct mcp_arguments){0};
	if (object && !json_is_object(object))
		return fail(why, -EINVAL, NULL, "arguments must be an object");
	json_object_foreach((json_t *)object, name, value)
	{
		int i = find(name, taken), err;

		if (i < 0)
			return refuse_unknown(name, taken, why);
		err = rows[i].most ? parse_number(i, value, arguments, why)
				   : parse_text(i, value, arguments, why);
		if (err)
			return err;
	}
	for (int i = 0; i < ARGUMENTS; i++)
		if (needed & ARGUMENT_BIT(i) && !arguments->texts[i])
			return fail(why, -EINVAL, NULL, "the argument %s is missing", rows[i].name);
	return 0;
}

static void describe(struct json *j, const struct row *row)
{
	json_open(j, row->name, '{');
	json_text(j, "type", row->most ? "integer" : "string");
	json_text(j, "description", row->about);
	if (row->most) {
		json_u64(j, "minimum", row->least);
		json_u64(j, "maximum", row->most);
	} else {
		json_u64(j, "maxLength", row->length);
	}
	json_close(j, '}');
}

void mcp_arguments_describe(struct json *j, const char *key, uint32_t taken, uint32_t needed)
{
	json_open(j, key, '{');
	json_text(j, "type", "object");
	json_open(j, "properties", '{');
	for (int i = 0; i < ARGUMENTS; i++)
		if (taken & ARGUMENT_BIT(i))
			describe(j, &rows[i]);
	json_close(j, '}');
	if (needed) {
		json_open(j, "required", '[');
		for (int i = 0; i < ARGUMENTS; i++)
			if (needed & ARGUMENT_BIT(i))
				json_text(j, NULL, rows[i].name);
		json_close(j, ']');
	}
	json_bool(j, "additionalProperties", false);
	json_close(j, '}');
}

int mcp_arguments_question(const struct mcp_arguments *arguments, struct question *q,
			   struct fail *why)
{
	static const struct {
		enum mcp_argument argument;
		int option;
	} options[] = {
		{ARGUMENT_EVENT, QUESTION_EVENT}, {ARGUMENT_PROCESS, QUESTION_PID},
		{ARGUMENT_THREAD, QUESTION_TID},  {ARGUMENT_NAME, QUESTION_COMM},
		{ARGUMENT_FROM, QUESTION_FROM},	  {ARGUMENT_TO, QUESTION_TO},
		{ARGUMENT_GROWN, QUESTION_GROWN}, {ARGUMENT_REQUEST, QUESTION_REQUEST},
	};
	int err = 0;

	*q = (struct question){0};
	for (size_t i = 0; !err && i < sizeof(options) / sizeof(options[0]); i++) {
		const char *text = arguments->texts[options[i].argument];

		if (text)
			err = question_parse(q, options[i].option, text, why);
	}
	return err;
}
