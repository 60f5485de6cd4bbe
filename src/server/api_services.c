// SPDX-License-Identifier: Apache-2.0
/* Services and which of them asked which others, by the requests that they served and made. */
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "store/services.h"

static void put_services(struct json *j, const struct store_services *answer)
{
	json_open(j, "services", '[');
	vec_foreach (&answer->services, one) {
		json_open(j, NULL, '{');
		json_text(j, "host", one->host);
		json_text(j, "service", one->name);
		put_request_figures(j, &one->served);
		json_u64(j, "made", one->made);
		json_u64(j, "made_failed", one->made_failed);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_calls(struct json *j, const struct store_services *answer)
{
	json_open(j, "calls", '[');
	vec_foreach (&answer->calls, one) {
		json_open(j, NULL, '{');
		json_u64(j, "from", one->from);
		if (one->to == SERVICE_NONE)
			json_null(j, "to");
		else
			json_u64(j, "to", one->to);
		json_bool(j, "several", one->is_several);
		json_text(j, "peer", one->peer);
		json_text(j, "protocol", film_protocol_name(one->protocol));
		put_request_figures(j, &one->made);
		json_u64(j, "for_served", one->for_served);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int api_services(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_services services = {0};
	struct server_ask ask;
	int err = ask_request(request, "", &ask, why);

	if (!err)
		err = store_services(request->store, &ask.ask, &services, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &services.sum);
		json_bool(&j, "cut", services.is_cut);
		put_services(&j, &services);
		put_calls(&j, &services);
		json_close(&j, '}');
	}
	store_services_free(&services);
	ask_free(&ask);
	return err;
}
