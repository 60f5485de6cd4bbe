// SPDX-License-Identifier: Apache-2.0
#include "mcp/tools.h"

#include <errno.h>

#include "query/diff.h"
#include "show/explain.h"
#include "show/show.h"
#include "show/words.h"

enum {
	ROWS_USUAL = 20,
	EXPLAINED_MAX = 5,
	THREADS_USUAL = 3,
	NAME_WIDTH = 80,
};

static int explain(struct mcp_call *call, struct mcp_asked *asked)
{
	struct explain_wanted wanted = {
		.id = call->arguments.texts[ARGUMENT_REQUEST],
		.endpoint = call->arguments.texts[ARGUMENT_ENDPOINT],
	};
	const struct filter *filter = &asked->question.filter;
	/* as of the verb: a client that names a thread asks for its time */
	bool wants_requests = explain_wants_requests(&wanted) ||
			      (!filter->tids.count && requests_event(asked->film));
	struct explain_answer answer = {0};
	struct explainer e;
	int err;

	/* of threads, the one that waited most may have done so for another one */
	wanted.slowest = asked->limit ? asked->limit : wants_requests ? 1 : THREADS_USUAL;
	if (wanted.slowest > EXPLAINED_MAX)
		wanted.slowest = EXPLAINED_MAX;
	err = explainer_init(&e, asked->film, filter, wants_requests ? &wanted : NULL, call->why);
	if (!err)
		err = explain_answer_make(&answer, &e, filter, &wanted, call->why);
	if (!err)
		err = show_explain_answer(&e, &answer, NULL, NULL, call->out, call->why);
	if (!err)
		words_lost(asked->film, e.event, e.lanes, call->out);
	explain_answer_free(&answer);
	explainer_free(&e);
	return err;
}

int mcp_tool_explain(struct mcp_call *call)
{
	struct mcp_asked asked;
	int err = mcp_ask(call, 0, &asked);

	/* that is what is explained, and no part of the question */
	asked.question.filter.request = NULL;
	if (!err)
		err = explain(call, &asked);
	mcp_asked_free(&asked);
	return err;
}

static int compare(struct mcp_call *call, struct mcp_asked *asked, struct film *before)
{
	const struct show_options options = {.limit = asked->limit, .name_width = NAME_WIDTH};
	struct diff diff = {0};
	int err = diff_make(before, asked->film, &asked->question, &diff, call->why);

	if (!err && show_diff_table(&diff, &options, call->out))
		err = fail_errno(call->why, -ENOMEM, NULL, "cannot answer");
	diff_free(&diff);
	return err;
}

int mcp_tool_diff(struct mcp_call *call)
{
	struct film *before = NULL;
	struct mcp_asked asked;
	int err = mcp_ask(call, ROWS_USUAL, &asked);

	if (!err)
		err = call->host->open(call->host->context, call->arguments.texts[ARGUMENT_BEFORE],
				       &before, call->why);
	if (!err) {
		film_look_at_end(before);
		words_cut_off(before, call->arguments.texts[ARGUMENT_BEFORE], call->out);
		err = compare(call, &asked, before);
	}
	film_free(before);
	mcp_asked_free(&asked);
	return err;
}
