// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that programs served and made. Times are ns since `base`, as of the timeline: its
 * readers go from one to the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "store/requests.h"

static int parse_role(const struct http_request *request, uint8_t *role, struct fail *why)
{
	const char *word = request_parameter(request, "role");

	*role = 0;
	if (!word || !*word)
		return 0;
	if (!strcmp(word, "served"))
		*role = FILM_REQUEST_SERVED;
	else if (!strcmp(word, "made"))
		*role = FILM_REQUEST_MADE;
	else
		return fail(why, -EINVAL, NULL, "role is served or made, not '%.64s'", word);
	return 0;
}

static const char *role_name(uint8_t role)
{
	return role == FILM_REQUEST_SERVED ? "served" : "made";
}

static void put_endpoints(struct json *j, const struct store_requests *answer, uint64_t limit)
{
	size_t shown = 0;

	json_open(j, "endpoints", '[');
	vec_foreach (&answer->endpoints, one) {
		if (shown++ == limit)
			break;
		json_open(j, NULL, '{');
		json_text(j, "endpoint", one->endpoint);
		json_text(j, "protocol", film_protocol_name(one->protocol));
		json_text(j, "role", role_name(one->role));
		put_request_figures(j, &one->figures);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_u64(j, "endpoints_hidden",
		 answer->endpoints.count > limit ? answer->endpoints.count - limit : 0);
}

static void put_number(struct json *j, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, number);
	json_text(j, key, number ? text : "");
}

static void put_one(struct json *j, const struct store_request *one, uint64_t base)
{
	const struct film_request *row = &one->row;

	json_open(j, NULL, '{');
	json_text(j, "name", one->name);
	put_number(j, "number", row->number);
	put_number(j, "parent", row->parent);
	json_text(j, "endpoint", one->endpoint);
	json_text(j, "path", one->path);
	json_text(j, "protocol", film_protocol_name(row->protocol));
	json_text(j, "role", role_name(row->role));
	json_u64(j, "status", row->status);
	json_bool(j, "failed", row->flags & FILM_REQUEST_FAILED);
	json_bool(j, "open", row->flags & FILM_REQUEST_OPEN);
	/* it may have begun before the time that was asked for */
	json_i64(j, "end", (int64_t)(one->end - base));
	json_u64(j, "duration", row->duration);
	json_u64(j, "first_byte", row->first);
	json_u64(j, "received", row->received);
	json_u64(j, "sent", row->sent);
	json_text(j, "peer", one->peer);
	json_text(j, "host", one->host);
	json_u64(j, "pid", one->pid);
	json_u64(j, "tid", one->tid);
	json_text(j, "process", one->process);
	json_text(j, "comm", one->comm);
	json_close(j, '}');
}

static void put_map(struct json *j, const struct store_requests *answer)
{
	json_u64(j, "step", answer->step);
	json_open(j, "rows", '[');
	for (unsigned int row = 0; row < REQUEST_ROWS; row++)
		json_u64(j, NULL, request_row_least(row));
	json_close(j, ']');
	json_open(j, "map", '[');
	for (size_t i = 0; answer->map && i < answer->steps * REQUEST_ROWS; i++)
		json_u64(j, NULL, answer->map[i]);
	json_close(j, ']');
}

static void put_answer(struct json *j, const struct store_requests *answer, uint64_t limit)
{
	char base[24];

	json_open(j, NULL, '{');
	put_sum(j, "sum", &answer->sum);
	snprintf(base, sizeof(base), "%" PRIu64, answer->sum.from);
	json_text(j, "base", base);
	json_u64(j, "length", answer->sum.to - answer->sum.from);
	json_u64(j, "count", answer->count);
	json_u64(j, "failed", answer->failed);
	json_u64(j, "open", answer->open);
	json_bool(j, "cut", answer->is_cut);
	put_endpoints(j, answer, limit);
	put_map(j, answer);
	json_open(j, "slowest", '[');
	vec_foreach (&answer->slowest, one)
		put_one(j, one, answer->sum.from);
	json_close(j, ']');
	json_close(j, '}');
}

int api_requests(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_requests requests = {0};
	struct server_ask ask;
	uint64_t limit = 0, steps = 0, endpoints = 0;
	int err = ask_request(request, "role endpoint least most limit steps endpoints", &ask, why);
	const struct url *url = request->url;

	if (!err)
		err = parse_role(request, &requests.role, why);
	if (!err)
		err = ask_number(url, "least", 0, INT64_MAX, 0, &requests.least, why);
	if (!err)
		err = ask_number(url, "most", 0, INT64_MAX, 0, &requests.most, why);
	if (!err)
		err = ask_number(url, "limit", 0, REQUEST_LIST_MAX, 100, &limit, why);
	if (!err)
		err = ask_number(url, "steps", 0, REQUEST_STEPS_MAX, 0, &steps, why);
	if (!err)
		err = ask_number(url, "endpoints", 0, REQUEST_ENDPOINTS_MAX, 200, &endpoints, why);
	if (!err) {
		requests.endpoint = request_parameter(request, "endpoint");
		requests.limit = limit;
		requests.steps = steps;
		err = store_requests(request->store, &ask.ask, &requests, why);
	}
	if (!err)
		put_answer(&j, &requests, endpoints);
	store_requests_free(&requests);
	ask_free(&ask);
	return err;
}
