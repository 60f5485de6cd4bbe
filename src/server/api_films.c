// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "server/api.h"
#include "server/internal.h"
#include "server/sender.h"

enum {
	AGENT_MAX = 64,
	HOST_MAX = 255
};

static bool is_agent(const char *name)
{
	size_t length = strlen(name);

	return length && length <= AGENT_MAX &&
	       strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") ==
		       length;
}

static int parse_sender(const struct http_request *request, struct store_sender *sender,
			struct fail *why)
{
	const char *number = request_header(request, "X-Stackcam-Number");

	sender->agent = request_header(request, "X-Stackcam-Agent");
	sender->host = request_header(request, "X-Stackcam-Host");
	sender->number = sender->owner = 0;
	if (!sender->host || !*sender->host || strlen(sender->host) > HOST_MAX)
		return fail(why, -EINVAL, NULL,
			    "the header X-Stackcam-Host names the machine that was filmed");
	if (!sender->agent && !number) {
		sender->agent = "";
		return 0;
	}
	if (!sender->agent || !is_agent(sender->agent))
		return fail(why, -EINVAL, NULL,
			    "the header X-Stackcam-Agent has 1 to %d letters, digits and '-'",
			    AGENT_MAX);
	if (!number || text_parse_u64(number, 1, INT64_MAX, &sender->number))
		return fail(why, -EINVAL, NULL,
			    "the header X-Stackcam-Number is a number that rises with each film");
	return 0;
}

/* A header that is wrong costs no film: it is counted. */
static void note_backlog(const struct http_request *request, const struct store_sender *sender)
{
	uint64_t agent = hash_bytes(sender->agent, strlen(sender->agent));

	if (*sender->agent)
		backlogs_read(request->state->backlogs, agent ^ hash_u64(request->grant->sender),
			      sender->agent, request_header(request, "X-Stackcam-Backlog"),
			      clock_ns());
}

int api_add_film(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_sender sender;
	bool again = false;
	int err = parse_sender(request, &sender, why);

	if (!err)
		err = sender_add_film(request, request->body_path, &sender, &again, why);
	if (err)
		return err;
	note_backlog(request, &sender);
	json_open(&j, NULL, '{');
	json_bool(&j, "again", again);
	json_close(&j, '}');
	return 0;
}
