// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "film/film.h"
#include "query/flame_prune.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"

enum {
	NODES = 20000,
	NODES_MAX = 200000,
	FUNCTIONS = 1000,
	FUNCTIONS_MAX = 20000,
};

static int parse_order(const struct http_request *request, enum function_order *order,
		       struct fail *why)
{
	static const struct {
		const char *name;
		enum function_order order;
	} orders[] = {
		{"total", FUNCTIONS_BY_TOTAL}, {"self", FUNCTIONS_BY_SELF},
		{"calls", FUNCTIONS_BY_CALLS}, {"avg", FUNCTIONS_BY_AVERAGE},
		{"p99", FUNCTIONS_BY_P99},     {"max", FUNCTIONS_BY_MAX},
	};
	const char *sort = request_parameter(request, "sort");

	*order = FUNCTIONS_BY_TOTAL;
	for (size_t i = 0; sort && i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (!strcmp(sort, orders[i].name)) {
			*order = orders[i].order;
			return 0;
		}
	}
	return sort ? fail(why, -EINVAL, NULL,
			   "sort is total, self, calls, avg, p99 or max, not '%.64s'", sort)
		    : 0;
}

/* A duration that is not known is null: no call was seen from its beginning to its end. */
static void put_measure(struct json *j, const char *key, const struct call_stats *stats,
			uint64_t ns)
{
	if (stats->measured)
		json_u64(j, key, ns);
	else
		json_null(j, key);
}

static void put_histogram(struct json *j, const struct latency *latency)
{
	json_open(j, "histogram", '[');
	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint64_t count = latency_power(latency, power);

		if (!count)
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "power", power);
		json_u64(j, "calls", count);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_function(struct json *j, const struct function *f)
{
	static const struct call_stats none;
	const struct call_stats *stats = f->calls[TREE_NOW] ? f->calls[TREE_NOW] : &none;

	json_open(j, NULL, '{');
	json_text(j, "name", f->label->name);
	json_text(j, "image", f->label->image);
	json_u64(j, "calls", stats->calls);
	json_u64(j, "inferred", stats->inferred);
	json_u64(j, "open", stats->open);
	json_u64(j, "cut", stats->cut);
	json_u64(j, "self", f->self[TREE_NOW]);
	json_u64(j, "total", f->total[TREE_NOW]);
	json_u64(j, "on_cpu", function_on_cpu(f, TREE_NOW));
	put_measure(j, "avg", stats, call_stats_average(stats));
	put_measure(j, "min", stats, stats->min);
	put_measure(j, "p50", stats, call_stats_quantile(stats, 500));
	put_measure(j, "p99", stats, call_stats_quantile(stats, 990));
	put_measure(j, "max", stats, stats->max);
	put_histogram(j, &stats->latency);
	json_close(j, '}');
}

static int put_functions_with_calls(struct json *j, const struct functions *functions,
				    enum function_order order, uint64_t limit)
{
	const struct function **rows = functions_in_order(functions, order);
	uint64_t calls = 0, hidden = 0;

	json_open(j, "functions", '[');
	for (size_t i = 0; rows && i < functions->count; i++) {
		if (!rows[i]->calls[TREE_NOW])
			continue;
		calls += rows[i]->calls[TREE_NOW]->calls;
		if (limit && limit--)
			put_function(j, rows[i]);
		else
			hidden++;
	}
	json_close(j, ']');
	json_u64(j, "functions_hidden", hidden);
	json_u64(j, "calls", calls);
	free(rows);
	return rows ? 0 : -ENOMEM;
}

static int put_answer(struct json *j, const struct store_answer *found, uint64_t nodes,
		      enum function_order order, uint64_t limit)
{
	int err;

	json_open(j, NULL, '{');
	put_sum(j, "sum", &found->sum);
	json_text(j, "unit", found->sum.unit);
	json_bool(j, "summary", found->is_summary);
	err = put_flame(j, &found->flame, (uint32_t)nodes);
	if (!err)
		err = put_functions_with_calls(j, &found->functions, order, limit);
	json_close(j, '}');
	return err;
}

int api_calls(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_answer found = {0};
	enum function_order order;
	struct server_ask ask;
	uint64_t nodes, limit;
	int err = ask_request(request, "nodes limit sort", &ask, why);

	if (!err)
		err = ask_number(request->url, "nodes", FLAME_PRUNE_MIN, NODES_MAX, NODES, &nodes,
				 why);
	if (!err)
		err = ask_number(request->url, "limit", 1, FUNCTIONS_MAX, FUNCTIONS, &limit, why);
	if (!err)
		err = parse_order(request, &order, why);
	if (!err && !ask.ask.event)
		ask.ask.event = event_type(EVENT_CALLS)->name;
	if (!err)
		err = store_calls(request->store, &ask.ask, &found, why);
	if (!err && put_answer(&j, &found, nodes, order, limit))
		err = fail_errno(why, -ENOMEM, NULL, "cannot answer");
	store_answer_free(&found);
	ask_free(&ask);
	return err;
}
