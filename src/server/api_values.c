// SPDX-License-Identifier: Apache-2.0
/*
 * Calls with their arguments and results: added up by value, how long they took by one of the
 * values, and the slowest or the latest one by one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/vec.h"
#include "query/shown_text.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "show/inspect_heat.h"
#include "show/inspect_summary.h"
#include "store/values.h"

enum {
	CALLS_MAX = 1000,
	VALUES_MAX = 1000,
};

/* A call of the list; its texts are owned. */
struct one {
	uint64_t start; /* ns since 1970 */
	uint64_t duration, goroutine;
	bool has_end;
	uint32_t pid, tid;
	char *host, *comm, *function, *arguments, *results;
};

struct answering {
	struct store_sum sum;
	struct inspect_summary *summary;
	struct inspect_heat *heat; /* null: not asked for */
	const char *function, *search;
	uint64_t least, most, count, limit;
	heap_compare *first; /* which calls come first */
	vec(struct one) calls;
};

static int slowest_first(const void *left, const void *right)
{
	const struct one *a = left, *b = right;

	return a->duration != b->duration ? (a->duration > b->duration ? -1 : 1)
	       : a->start < b->start	  ? -1
					  : a->start > b->start;
}

static int latest_first(const void *left, const void *right)
{
	const struct one *a = left, *b = right;

	return a->start > b->start ? -1 : a->start < b->start;
}

static void free_one(struct one *one)
{
	free(one->host);
	free(one->comm);
	free(one->function);
	free(one->arguments);
	free(one->results);
}

/* "a=1, b=2", to be freed; null: no memory. */
static char *words_of(const struct shown_tree *tree)
{
	char *words = NULL;
	size_t size;
	FILE *to = open_memstream(&words, &size);

	if (!to)
		return NULL;
	shown_print_list(to, tree);
	if (!fclose(to))
		return words;
	free(words);
	return NULL;
}

/* Takes one; false: no memory. Once there are enough, the root of a heap is the last of them. */
static bool keep(struct answering *a, struct one *one)
{
	struct one *root = a->calls.at;

	if (a->calls.count == a->limit) {
		if (!a->limit || a->first(one, root) >= 0) {
			free_one(one);
			return true;
		}
		free_one(root);
		*root = *one;
		heap_sink(root, a->limit, sizeof(*one), a->first);
		return true;
	}
	if (!vec_push(&a->calls, *one)) {
		free_one(one);
		return false;
	}
	if (a->calls.count == a->limit)
		heap_make(a->calls.at, a->limit, sizeof(*one), a->first);
	return true;
}

static bool fill(struct one *one, const struct store_valued *valued, const char *function)
{
	const struct film *film = valued->film;
	const struct valued_call *call = valued->call;
	const struct film_thread *thread = &film->threads[call->thread];

	*one = (struct one){
		.start = call->end - call->duration + (uint64_t)film->info.wall_offset,
		.duration = call->duration,
		.goroutine = call->goroutine,
		.has_end = valued_call_has_end(call),
		.pid = film->processes[thread->process].pid,
		.tid = thread->tid,
		.host = strdup(valued->host),
		.comm = strdup(thread->comm),
		.function = strdup(function),
		.arguments = words_of(&call->arguments),
		.results = words_of(&call->results),
	};
	return one->host && one->comm && one->function && one->arguments && one->results;
}

static int add(struct answering *a, const struct store_valued *valued, const struct one *one)
{
	struct inspect_line line = {
		.wall = one->start,
		.pid = one->pid,
		.tid = one->tid,
		.goroutine = one->goroutine,
		.comm = one->comm,
		.function = one->function,
		.arguments = &valued->call->arguments,
		.results = &valued->call->results,
		.has_end = one->has_end,
		.latency = one->duration,
	};
	int err = inspect_summary_add(a->summary, &line);

	return !err && a->heat ? inspect_heat_add(a->heat, &line) : err;
}

static int write_valued(void *context, const struct store_valued *valued)
{
	struct answering *a = context;
	const struct valued_call *call = valued->call;
	const struct film *film = valued->film;
	const char *function = film->functions[film->frames[call->frame].function].name;
	struct one one;
	int err = 0;

	if ((a->function && strcmp(a->function, function) != 0) || call->duration < a->least ||
	    (a->most && call->duration > a->most))
		return 0;
	if (!fill(&one, valued, function))
		err = -ENOMEM;
	if (!err && a->search && !strstr(one.arguments, a->search) &&
	    !strstr(one.results, a->search)) {
		free_one(&one);
		return 0;
	}
	if (!err)
		err = add(a, valued, &one);
	if (err) {
		free_one(&one);
		return err;
	}
	a->count++;
	return keep(a, &one) ? 0 : -ENOMEM;
}

static void put_one(struct json *j, const struct one *one, uint64_t base)
{
	json_open(j, NULL, '{');
	json_text(j, "function", one->function);
	/* it may have begun before the time that was asked for */
	json_i64(j, "start", (int64_t)(one->start - base));
	if (one->has_end)
		json_u64(j, "duration", one->duration);
	else
		json_null(j, "duration");
	json_text(j, "host", one->host);
	json_u64(j, "pid", one->pid);
	json_u64(j, "tid", one->tid);
	json_text(j, "comm", one->comm);
	json_u64(j, "goroutine", one->goroutine);
	json_text(j, "arguments", one->arguments);
	json_text(j, "results", one->results);
	json_close(j, '}');
}

static void put_answer(struct json *j, struct answering *a, uint64_t values)
{
	char base[24];

	json_open(j, NULL, '{');
	put_sum(j, "sum", &a->sum);
	snprintf(base, sizeof(base), "%" PRIu64, a->sum.from);
	json_text(j, "base", base);
	json_u64(j, "count", a->count);
	inspect_summary_put_json(a->summary, values, j);
	if (a->heat)
		inspect_heat_put_json(a->heat, values, j);
	else
		json_null(j, "heat");
	json_open(j, "calls", '[');
	if (a->calls.count)
		qsort(a->calls.at, a->calls.count, sizeof(*a->calls.at), a->first);
	vec_foreach (&a->calls, one)
		put_one(j, one, a->sum.from);
	json_close(j, ']');
	json_close(j, '}');
}

static int parse_sort(const struct http_request *request, struct answering *a, struct fail *why)
{
	const char *word = request_parameter(request, "sort");

	a->first = slowest_first;
	if (!word || !*word || !strcmp(word, "slowest"))
		return 0;
	a->first = latest_first;
	return !strcmp(word, "latest")
		       ? 0
		       : fail(why, -EINVAL, NULL, "sort is slowest or latest, not '%.64s'", word);
}

static const char *word_of(const struct http_request *request, const char *name)
{
	const char *word = request_parameter(request, name);

	return word && *word ? word : NULL;
}

static int begin(struct answering *a, const struct http_request *request, struct fail *why)
{
	const char *value = word_of(request, "value");

	a->function = word_of(request, "function");
	a->search = word_of(request, "search");
	a->summary = inspect_summary_new();
	a->heat = value ? inspect_heat_new(value) : NULL;
	return a->summary && (a->heat || !value) ? 0
						 : fail_errno(why, -ENOMEM, NULL, "cannot answer");
}

int api_values(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct answering a = {0};
	struct server_ask ask;
	uint64_t values = 0;
	int err = ask_request(request, "function value search least most limit values sort", &ask,
			      why);

	if (!err)
		err = ask_number(request->url, "least", 0, INT64_MAX, 0, &a.least, why);
	if (!err)
		err = ask_number(request->url, "most", 0, INT64_MAX, 0, &a.most, why);
	if (!err)
		err = ask_number(request->url, "limit", 0, CALLS_MAX, 100, &a.limit, why);
	if (!err)
		err = ask_number(request->url, "values", 0, VALUES_MAX, 20, &values, why);
	if (!err)
		err = parse_sort(request, &a, why);
	if (!err)
		err = begin(&a, request, why);
	if (!err)
		err = store_values(request->store, &ask.ask, &a.sum, write_valued, &a, why);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot answer");
	if (!err)
		put_answer(&j, &a, values);
	vec_foreach (&a.calls, one)
		free_one(one);
	vec_free(&a.calls);
	inspect_summary_free(a.summary);
	inspect_heat_free(a.heat);
	ask_free(&ask);
	return err;
}
