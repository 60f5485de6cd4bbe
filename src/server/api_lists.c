// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "film/labels.h"
#include "film/loss_kinds.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"

enum {
	ROWS = 200,
	ROWS_MAX = 10000,
	STEPS = 300,
	TIMELINE_ROWS = 10,
};

/* What both lists take: the question, and how long they may be. */
static int parse_list(const struct http_request *request, struct server_ask *ask, uint64_t *limit,
		      struct fail *why)
{
	int err = ask_request(request, "limit", ask, why);

	return err ? err : ask_number(request->url, "limit", 1, ROWS_MAX, ROWS, limit, why);
}

static void put_series(struct json *j, const struct store_series_list *list)
{
	json_open(j, "series", '[');
	for (size_t i = 0; i < list->count; i++) {
		const struct store_series *series = &list->at[i];

		json_open(j, NULL, '{');
		json_text(j, "host", series->host);
		json_text(j, "service", series->service);
		json_text(j, "version", series->version);
		json_text(j, "labels", series->labels);
		json_u64(j, "samples", series->samples);
		json_u64(j, "total", series->total);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int api_series(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_series_list list = {0};
	struct server_ask ask;
	uint64_t limit;
	int err = parse_list(request, &ask, &limit, why);

	if (!err)
		err = store_series(request->store, &ask.ask, limit, &list, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &list.sum);
		put_series(&j, &list);
		json_u64(&j, "others", list.others);
		json_close(&j, '}');
	}
	store_series_free(&list);
	ask_free(&ask);
	return err;
}

/* "label.KEY": as in the table of meta data of a film. */
static bool is_label(const char *name, const char **key)
{
	static const char before[] = "label.";

	if (strncmp(name, before, sizeof(before) - 1) != 0)
		return false;
	*key = name + sizeof(before) - 1;
	return film_label_key_ok(*key, strlen(*key));
}

static int parse_group(const struct http_request *request, struct store_ask *ask, enum store_by *by,
		       struct fail *why)
{
	static const char *const names[] = {
		[STORE_BY_NOTHING] = "none",
		[STORE_BY_HOST] = "host",
		[STORE_BY_SERVICE] = "service",
		[STORE_BY_VERSION] = "version",
	};
	const char *name = request_parameter(request, "group");

	*by = STORE_BY_NOTHING;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name)) {
			*by = (enum store_by)i;
			return 0;
		}
	if (!name)
		return 0;
	if (is_label(name, &ask->by_label)) {
		*by = STORE_BY_LABEL;
		return 0;
	}
	return fail(why, -EINVAL, NULL,
		    "group is none, host, service, version or label.KEY, not '%.64s'", name);
}

static void put_timeline(struct json *j, const struct store_timeline *timeline)
{
	json_open(j, NULL, '{');
	put_sum(j, "sum", &timeline->sum);
	json_double(j, "step", (double)timeline->step / 1e9);
	json_open(j, "filmed", '[');
	for (size_t step = 0; step < timeline->steps; step++)
		json_double(j, NULL, (double)timeline->filmed[step] / 1e9);
	json_close(j, ']');
	json_open(j, "rows", '[');
	for (size_t i = 0; i < timeline->rows; i++) {
		const struct store_timeline_row *row = &timeline->at[i];

		json_open(j, NULL, '{');
		json_text(j, "name", row->name);
		json_u64(j, "total", row->total);
		json_open(j, "values", '[');
		for (size_t step = 0; step < timeline->steps; step++)
			json_u64(j, NULL, row->values[step]);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

int api_timeline(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *function = request_parameter(request, "function");
	struct json j = {.out = answer->out};
	struct store_timeline timeline = {0};
	struct server_ask ask;
	uint64_t steps, rows;
	enum store_by by;
	int err = ask_request(request, "group steps rows function", &ask, why);

	if (!err)
		err = parse_group(request, &ask.ask, &by, why);
	if (!err)
		err = ask_number(request->url, "steps", 1, STORE_STEPS_MAX, STEPS, &steps, why);
	if (!err)
		err = ask_number(request->url, "rows", 1, STORE_ROWS_MAX, TIMELINE_ROWS, &rows,
				 why);
	if (!err)
		err = store_timeline(request->store, &ask.ask, by, steps, rows,
				     function && *function ? function : NULL, &timeline, why);
	if (!err)
		put_timeline(&j, &timeline);
	store_timeline_free(&timeline);
	ask_free(&ask);
	return err;
}

static void put_thread(struct json *j, const struct store_process *thread)
{
	json_open(j, NULL, '{');
	json_u64(j, "tid", thread->tid);
	json_text(j, "comm", thread->comm);
	json_u64(j, "samples", thread->samples);
	json_u64(j, "total", thread->total);
	json_close(j, '}');
}

/* Its threads stand behind a process. */
static void put_processes(struct json *j, const struct store_processes *list)
{
	json_open(j, "processes", '[');
	for (size_t i = 0; i < list->count;) {
		const struct store_process *process = &list->at[i++];

		json_open(j, NULL, '{');
		json_text(j, "host", process->host);
		json_text(j, "service", process->service);
		json_u64(j, "pid", process->pid);
		json_text(j, "comm", process->comm);
		json_text(j, "command", process->command);
		json_u64(j, "samples", process->samples);
		json_u64(j, "total", process->total);
		json_open(j, "threads", '[');
		for (; i < list->count && list->at[i].tid; i++)
			put_thread(j, &list->at[i]);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

int api_processes(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_processes list = {0};
	struct server_ask ask;
	uint64_t limit;
	int err = parse_list(request, &ask, &limit, why);

	if (!err)
		err = store_processes(request->store, &ask.ask, limit, &list, why);
	if (!err) {
		json_open(&j, NULL, '{');
		put_sum(&j, "sum", &list.sum);
		put_processes(&j, &list);
		json_u64(&j, "others", list.others);
		json_close(&j, '}');
	}
	store_processes_free(&list);
	ask_free(&ask);
	return err;
}

int api_losses(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct store_losses losses = {0};
	struct server_ask ask;
	uint64_t limit;
	int err = parse_list(request, &ask, &limit, why);

	if (!err)
		err = store_losses(request->store, &ask.ask, &losses, why);
	if (!err) {
		json_open(&j, NULL, '{');
		json_u64(&j, "lost", losses.sum.lost);
		json_u64(&j, "films_unread", losses.sum.films_unread);
		json_open(&j, "losses", '[');
		for (size_t i = 0; i < losses.all.count && i < limit; i++) {
			json_open(&j, NULL, '{');
			json_text(&j, "reason", losses.all.at[i].reason);
			json_u64(&j, "count", losses.all.at[i].count);
			json_text(&j, "kind",
				  film_loss_kind_name(film_loss_kind(losses.all.at[i].reason)));
			json_close(&j, '}');
		}
		json_close(&j, ']');
		json_close(&j, '}');
	}
	store_losses_free(&losses);
	ask_free(&ask);
	return err;
}
