// SPDX-License-Identifier: Apache-2.0
#include "show/requests.h"

#include <inttypes.h>
#include <stdlib.h>

#include "query/request_sums.h"
#include "show/json_film.h"

static const char *const id_kinds[] = {
	[FILM_REQUEST_ID_NONE] = "none",
	[FILM_REQUEST_ID_TRACEPARENT] = "traceparent",
	[FILM_REQUEST_ID_B3] = "b3",
	[FILM_REQUEST_ID_SW8] = "sw8",
	[FILM_REQUEST_ID_UBER] = "uber-trace-id",
	[FILM_REQUEST_ID_REQUEST_ID] = "x-request-id",
	[FILM_REQUEST_ID_CONTEXT] = "context",
	[FILM_REQUEST_ID_MARKER] = "marker",
};

static void put_sum(struct json *j, const struct request_sum *sum)
{
	json_text(j, "role", request_role_name(&sum->example));
	json_text(j, "protocol", film_protocol_name(sum->example.row.protocol));
	json_u64(j, "count", sum->all.count);
	json_u64(j, "failed", sum->all.failed);
	json_u64(j, "open", sum->all.open);
	json_u64(j, "total", sum->all.total);
	json_u64(j, "p50", request_figures_quantile(&sum->all, 500));
	json_u64(j, "p90", request_figures_quantile(&sum->all, 900));
	json_u64(j, "p99", request_figures_quantile(&sum->all, 990));
	json_u64(j, "max", sum->all.longest);
	json_u64(j, "received", sum->received);
	json_u64(j, "sent", sum->sent);
}

static void put_process(struct json *j, const struct film *film, uint32_t process)
{
	json_u64(j, "pid", film->processes[process].pid);
	json_text(j, "comm", film->processes[process].comm);
}

static void put_number(struct json *j, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%016" PRIx64, number);
	json_text(j, key, text);
}

static void put_flags(struct json *j, uint32_t flags)
{
	json_bool(j, "failed", flags & FILM_REQUEST_FAILED);
	json_bool(j, "open", flags & FILM_REQUEST_OPEN);
	json_bool(j, "answered", !(flags & FILM_REQUEST_UNANSWERED));
	json_bool(j, "end_guessed", flags & FILM_REQUEST_END_GUESSED);
	json_bool(j, "parts_lost", flags & FILM_REQUEST_COPY_LOST);
	json_bool(j, "tls", flags & FILM_REQUEST_TLS);
}

/* What shows for which request it was made. */
static const char *parent_by(const struct film_request *row)
{
	if (row->flags & FILM_REQUEST_PARENT_BY_ORDER)
		return "order";
	if (row->flags & FILM_REQUEST_PARENT_BY_GOROUTINE)
		return "goroutine";
	if (row->flags & FILM_REQUEST_PARENT_BY_START)
		return "start";
	if (row->flags & FILM_REQUEST_PARENT_BY_TASK)
		return "task";
	if (row->flags & FILM_REQUEST_PARENT_BY_CONTENT)
		return "content";
	if (row->flags & FILM_REQUEST_PARENT_BY_MARKER)
		return "marker";
	return row->flags & FILM_REQUEST_PARENT_BY_ID ? "id" : "thread";
}

static void put_request(struct json *j, const struct film *film, const struct request *request)
{
	const struct film_request *row = &request->row;
	const struct film_thread *thread = &film->threads[row->thread];
	char peer[REQUEST_PEER_MAX];

	json_open(j, NULL, '{');
	put_number(j, "number", row->number);
	json_text(j, "id", request->id);
	json_text(
		j, "id_kind",
		id_kinds[row->id_kind < sizeof(id_kinds) / sizeof(id_kinds[0]) ? row->id_kind : 0]);
	json_text(j, "role", request_role_name(request));
	json_text(j, "protocol", film_protocol_name(row->protocol));
	json_text(j, "endpoint", request->endpoint);
	json_text(j, "path", request->path);
	json_u64(j, "status", row->status);
	json_u64(j, "start", request_start(request));
	json_u64(j, "duration", row->duration);
	json_u64(j, "first_byte", row->first);
	json_u64(j, "received", row->received);
	json_u64(j, "sent", row->sent);
	put_process(j, film, thread->process);
	json_u64(j, "tid", thread->tid);
	json_text(j, "thread", thread->comm);
	json_u64(j, "answered_by", film->threads[row->answerer].tid);
	json_text(j, "peer", request_peer(request, peer, sizeof(peer)));
	put_number(j, "connection", row->connection);
	json_u64(j, "stream", row->stream);
	json_u64(j, "goroutine", row->goroutine);
	if (row->parent)
		put_number(j, "parent", row->parent);
	else
		json_null(j, "parent");
	if (row->parent)
		json_text(j, "parent_by", parent_by(row));
	else
		json_null(j, "parent_by");
	put_flags(j, row->flags);
	json_close(j, '}');
}

static void put_sums(struct json *j, const struct request_sums *sums)
{
	char peer[REQUEST_PEER_MAX];

	json_put_film(j, sums->film, sums->from, sums->to);
	json_put_reasons(j, "loss", &sums->losses);
	json_u64(j, "count", sums->count);
	json_u64(j, "failed", sums->failed);
	json_u64(j, "open", sums->open);
	json_open(j, "endpoints", '[');
	vec_foreach (&sums->endpoints, sum) {
		json_open(j, NULL, '{');
		json_text(j, "endpoint", sum->example.endpoint);
		json_text(j, "program", request_sum_program(sums, sum));
		put_sum(j, sum);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "dependencies", '[');
	vec_foreach (&sums->peers, sum) {
		json_open(j, NULL, '{');
		put_process(j, sums->film, sums->film->threads[sum->example.row.thread].process);
		json_text(j, "peer", request_peer(&sum->example, peer, sizeof(peer)));
		put_sum(j, sum);
		if (sum->server) {
			json_open(j, "server", '{');
			put_process(j, sums->film, sum->server);
			json_close(j, '}');
		} else {
			json_null(j, "server");
		}
		if (sum->server_program)
			json_text(j, "server_comm",
				  sums->film->processes[sum->server_program].comm);
		else
			json_null(j, "server_comm");
		json_u64(j, "for_served", sum->for_served);
		json_u64(j, "served", sum->served);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "requests", '[');
	vec_foreach (&sums->slowest, request)
		put_request(j, sums->film, request);
	json_close(j, ']');
}

/* JSON has all requests, the slowest first; a limit is one of tables. */
int show_requests_json(struct film *film, const struct question *q,
		       const struct show_options *options, FILE *out, uint64_t *samples,
		       struct fail *why)
{
	struct json j = {.out = out};
	struct request_sums sums;
	int err = request_sums_make(film, &q->filter, SIZE_MAX, &sums, why);

	(void)options;
	*samples = sums.count;
	if (!err) {
		json_open(&j, NULL, '{');
		put_sums(&j, &sums);
		json_close(&j, '}');
		fputc('\n', out);
	}
	request_sums_free(&sums);
	return err;
}
