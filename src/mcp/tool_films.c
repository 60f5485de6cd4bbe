// SPDX-License-Identifier: Apache-2.0
/* The tools that know no more than their host, or than a summary. */
#include "mcp/tools.h"

#include <errno.h>

#include "show/summary.h"

int mcp_tool_films(struct mcp_call *call)
{
	return call->host->list(call->host->context, call->out, call->why);
}

int mcp_tool_doctor(struct mcp_call *call)
{
	return call->host->doctor(call->host->context, call->out, call->why);
}

int mcp_tool_record(struct mcp_call *call)
{
	const struct mcp_arguments *arguments = &call->arguments;
	const struct mcp_recording recording = {
		.events = arguments->texts[ARGUMENT_EVENTS] ? arguments->texts[ARGUMENT_EVENTS]
							    : "on-cpu,off-cpu,lock",
		.pid = arguments->numbers[ARGUMENT_PROCESS],
		.name = arguments->texts[ARGUMENT_NAME],
		.seconds = (unsigned int)arguments->numbers[ARGUMENT_SECONDS],
	};

	if (recording.pid && recording.name)
		return fail(call->why, -EINVAL, NULL, "give process or name, not both");
	return call->host->record(call->host->context, &recording, call->out, call->why);
}

int mcp_tool_summary(struct mcp_call *call)
{
	struct mcp_asked asked;
	struct summary summary = {0};
	int err = mcp_ask(call, 0, &asked);

	if (!err)
		err = summary_make(asked.film, &asked.question, &(struct summary_wanted){0},
				   &summary, call->why);
	if (!err)
		show_summary_text(&summary, SUMMARY_FOR_AGENTS, call->out);
	summary_free(&summary);
	mcp_asked_free(&asked);
	return err;
}

/* Findings of some kinds, with where there is more; or what a film lacks to have any. */
static int put_findings(struct mcp_call *call, uint32_t kinds, const char *more,
			const char *without)
{
	struct mcp_asked asked;
	struct summary summary = {0};
	int err = mcp_ask(call, 10, &asked);

	if (!err)
		err = summary_make(
			asked.film, &asked.question,
			&(struct summary_wanted){.kinds = kinds, .most = (unsigned int)asked.limit},
			&summary, call->why);
	if (!err && summary.findings.count) {
		show_summary_findings(&summary, SUMMARY_ALONE, call->out);
		fprintf(call->out,
			"at most %zu of each kind are shown, as the argument limit says\nmore: "
			"%s\n",
			asked.limit, more);
	} else if (!err) {
		fprintf(call->out, "%s\n", without);
	}
	summary_free(&summary);
	mcp_asked_free(&asked);
	return err;
}

int mcp_tool_waits(struct mcp_call *call)
{
	return put_findings(call,
			    1u << SUMMARY_WAITING | 1u << SUMMARY_WAIT | 1u << SUMMARY_LOCK |
				    1u << SUMMARY_STATE | 1u << SUMMARY_OBJECT,
			    "explain, with process, thread or name",
			    "Nothing: the film has no waits of what was asked for. 'record -e "
			    "off-cpu,lock,threads' records them.");
}

int mcp_tool_requests(struct mcp_call *call)
{
	return put_findings(call, 1u << SUMMARY_ENDPOINT | 1u << SUMMARY_REQUEST,
			    "explain, with request or endpoint",
			    "Nothing: the film has no requests of what was asked for. 'record -e "
			    "requests,threads,on-cpu' records them.");
}
