// SPDX-License-Identifier: Apache-2.0
/*
 * Why a request, or a thread, took as long as it did: as 'stackcam explain --format json' says it.
 */
#include "server/api.h"
#include "server/ask.h"
#include "show/explain.h"
#include "store/explain.h"

enum {
	SLOWEST_MAX = 100
};

struct putter {
	FILE *out;
	struct fail *why;
};

static int put(void *context, struct explainer *e, const struct explain_answer *answer)
{
	const struct putter *p = context;
	int err = show_explanations_json(e, answer, p->out);

	return err ? fail_errno(p->why, err, NULL, "cannot answer") : 0;
}

int api_explain(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct putter p = {answer->out, why};
	struct explain_wanted wanted = {0};
	struct server_ask ask;
	uint64_t slowest = 1;
	int err = ask_request(request, "request endpoint slowest", &ask, why);

	if (!err)
		err = ask_number(request->url, "slowest", 1, SLOWEST_MAX, 1, &slowest, why);
	if (!err) {
		wanted.id = request_parameter(request, "request");
		wanted.endpoint = request_parameter(request, "endpoint");
		wanted.slowest = slowest;
		err = store_explain(request->store, &ask.ask, &wanted, put, &p, why);
	}
	ask_free(&ask);
	return err;
}
