// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "query/flame_prune.h"
#include "query/sandwich.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "show/json_film.h"

enum {
	NODES = 20000,
	NODES_MAX = 200000,
	FUNCTIONS = 200,
	FUNCTIONS_MAX = 20000,
};

static int parse_nodes(const struct http_request *request, uint64_t *nodes, struct fail *why)
{
	return ask_number(request->url, "nodes", FLAME_PRUNE_MIN, NODES_MAX, NODES, nodes, why);
}

/* What of the functions is wanted. */
struct wanted {
	uint64_t with_functions, limit;
	enum function_order order;
};

static int parse_order(const struct http_request *request, struct wanted *wanted, struct fail *why)
{
	const char *sort = request_parameter(request, "sort");

	wanted->order = FUNCTIONS_BY_SELF;
	if (sort && !strcmp(sort, "total"))
		wanted->order = FUNCTIONS_BY_TOTAL;
	else if (sort && strcmp(sort, "self"))
		return fail(why, -EINVAL, NULL, "sort is self or total, not '%.64s'", sort);
	return ask_number(request->url, "limit", 1, FUNCTIONS_MAX, FUNCTIONS, &wanted->limit, why);
}

static int parse_wanted(const struct http_request *request, struct wanted *wanted, struct fail *why)
{
	int err = parse_order(request, wanted, why);

	return err ? err
		   : ask_number(request->url, "functions", 0, 1, 0, &wanted->with_functions, why);
}

static int no_memory(int err, struct fail *why)
{
	return err ? fail_errno(why, err, NULL, "cannot answer") : 0;
}

static void put_request(struct json *j, const struct server_ask *ask,
			const struct store_answer *found)
{
	if (!ask->question.filter.request)
		return;
	json_open(j, "request", '{');
	json_text(j, "id", ask->question.filter.request);
	json_u64(j, "shared", found->others);
	json_u64(j, "not_known", found->unplaced);
	json_put_unlinked(j, found->unlinked);
	json_close(j, '}');
}

int api_flame(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_answer found = {0};
	struct wanted wanted;
	struct server_ask ask;
	uint64_t nodes, others;
	int err = ask_request(request, "nodes functions limit sort request", &ask, why);

	if (!err)
		err = ask_of_request(request->url, &ask, why);
	if (!err)
		err = parse_nodes(request, &nodes, why);
	if (!err)
		err = parse_wanted(request, &wanted, why);
	if (!err) {
		ask.ask.nodes_max = (uint32_t)nodes;
		ask.ask.functions_max = wanted.with_functions ? (uint32_t)wanted.limit : 1;
		err = store_flame(request->store, &ask.ask, &found, why);
	}
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &found.sum);
		json_text(&j, "unit", found.sum.unit);
		put_request(&j, &ask, &found);
		err = put_flame(&j, &found.flame, (uint32_t)nodes);
		if (!err && wanted.with_functions)
			err = put_functions(&j, &found.functions, wanted.order, wanted.limit, false,
					    &others);
		no_memory(err, why);
		json_close(&j, '}');
	}
	store_answer_free(&found);
	ask_free(&ask);
	return err;
}

int api_diff(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_answer found = {0};
	struct server_ask before, now;
	struct wanted wanted;
	uint64_t nodes, others;
	int err = ask_request_two(request, "nodes functions limit", &before, &now, why);

	if (!err)
		err = parse_nodes(request, &nodes, why);
	if (!err)
		err = parse_wanted(request, &wanted, why);
	if (!err)
		err = store_diff(request->store, &before.ask, &now.ask, &found, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &found.sum);
		put_sum(&j, "before", &found.before);
		json_text(&j, "unit", found.sum.unit);
		err = put_flame(&j, &found.flame, (uint32_t)nodes);
		/* furthest moved first, as they stand */
		if (!err && wanted.with_functions)
			err = put_functions(&j, &found.functions, FUNCTIONS_AS_THEY_ARE,
					    wanted.limit, true, &others);
		no_memory(err, why);
		json_close(&j, '}');
	}
	store_answer_free(&found);
	ask_free(&before);
	ask_free(&now);
	return err;
}

int api_functions(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_answer found = {0};
	struct wanted wanted = {0};
	struct server_ask ask;
	uint64_t others;
	int err = ask_request(request, "limit sort request", &ask, why);

	if (!err)
		err = ask_of_request(request->url, &ask, why);
	if (!err)
		err = parse_order(request, &wanted, why);
	if (!err) {
		ask.ask.nodes_max = FLAME_PRUNE_MIN;
		ask.ask.functions_max = (uint32_t)wanted.limit;
		err = store_flame(request->store, &ask.ask, &found, why);
	}
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &found.sum);
		err = no_memory(put_functions(&j, &found.functions, wanted.order, wanted.limit,
					      false, &others),
				why);
		json_u64(&j, "others", others);
		json_close(&j, '}');
	}
	store_answer_free(&found);
	ask_free(&ask);
	return err;
}

/* The members of an object for one side of a sandwich. */
static int put_side(struct json *j, const char *key, const struct flame *flame, uint64_t nodes)
{
	int err;

	json_open(j, key, '{');
	err = put_flame(j, flame, (uint32_t)nodes);
	json_close(j, '}');
	return err;
}

static int put_sandwich(struct json *j, const struct store_answer *found,
			const struct sandwich *sandwich, uint64_t nodes)
{
	int err;

	json_open(j, NULL, '{');
	put_sum(j, "sum", &found->sum);
	json_text(j, "unit", found->sum.unit);
	json_u64(j, "self", sandwich->self);
	json_u64(j, "total", sandwich->total);
	err = put_side(j, "callers", &sandwich->callers, nodes);
	if (!err)
		err = put_side(j, "callees", &sandwich->callees, nodes);
	json_close(j, '}');
	return err;
}

int api_sandwich(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *name = request_parameter(request, "name");
	struct json j = {.out = answer->out};
	struct store_answer found = {0};
	struct sandwich sandwich = {0};
	struct server_ask ask;
	uint64_t nodes;
	int err = ask_request(request, "name image nodes request", &ask, why);

	if (!err)
		err = ask_of_request(request->url, &ask, why);
	if (!err && (!name || !*name))
		err = fail(why, -EINVAL, NULL, "name, of the function in the middle, is missing");
	if (!err)
		err = parse_nodes(request, &nodes, why);
	if (!err)
		err = store_flame(request->store, &ask.ask, &found, why);
	if (!err)
		err = no_memory(sandwich_make(&found.flame, name,
					      request_parameter(request, "image"), &sandwich),
				why);
	if (!err)
		err = no_memory(put_sandwich(&j, &found, &sandwich, nodes), why);
	sandwich_free(&sandwich);
	store_answer_free(&found);
	ask_free(&ask);
	return err;
}
