// SPDX-License-Identifier: Apache-2.0
/* The last minutes of a flight recorder are kept, because a client asks for it. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "server/api.h"
#include "server/internal.h"
#include "server/put.h"

enum {
	REASON_MAX = 500,
};

static int check(const struct http_request *request, const char *reason, struct fail *why)
{
	const char *bound = request->grant->host;

	for (size_t i = 0; i < request->url->count; i++)
		if (strcmp(request->url->parameters[i].name, "reason") != 0)
			return fail(why, -EINVAL, NULL, "to keep takes a reason, and no '%.64s'",
				    request->url->parameters[i].name);
	if (!request->state->keep)
		return fail(why, -EOPNOTSUPP, "start 'stackcam serve' with --camera",
			    "there is no flight recorder here");
	if (*bound && strcmp(bound, request->state->host) != 0)
		return fail(why, -EPERM, "use a token of this machine",
			    "this token is of films of %.64s only", bound);
	if (strlen(reason) > REASON_MAX)
		return fail(why, -EINVAL, NULL, "a reason has at most %d bytes", REASON_MAX);
	for (const char *c = reason; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return fail(why, -EINVAL, NULL, "the reason has a control character");
	return 0;
}

int api_keep(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *reason = request_parameter(request, "reason");
	struct json j = {.out = answer->out};
	struct server_kept kept;
	int err;

	reason = reason ? reason : "";
	err = check(request, reason, why);
	if (!err)
		err = request->state->keep(request->state->context, reason, &kept, why);
	answer->no_store = true;
	if (err)
		return err;
	json_open(&j, NULL, '{');
	json_text(&j, "film", kept.path);
	put_time(&j, "from", kept.from);
	put_time(&j, "to", kept.to);
	json_close(&j, '}');
	return 0;
}
