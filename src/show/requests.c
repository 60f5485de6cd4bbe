// SPDX-License-Identifier: Apache-2.0
#include "show/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/request_sums.h"
#include "show/words.h"

/* The most that are listed, unless all are asked for. */
#define SLOWEST 20

static void put_number(FILE *out, int width, uint64_t count)
{
	char words[32];

	words_value(words, sizeof(words), "count", count);
	fprintf(out, " %*s", width, words);
}

static void put_time(FILE *out, uint64_t ns)
{
	char words[32];

	words_value(words, sizeof(words), "ns", ns);
	fprintf(out, " %11s", words);
}

static void put_quantile(FILE *out, const struct request_figures *figures, unsigned int of_thousand)
{
	char words[32];

	text_quantile(words, sizeof(words), request_figures_quantile(figures, of_thousand),
		      figures->longest);
	fprintf(out, " %11s", words);
}

/* Of those that were answered; where none was, of none. */
static void put_times(FILE *out, const struct request_sum *sum)
{
	put_quantile(out, &sum->all, 500);
	put_quantile(out, &sum->all, 900);
	put_quantile(out, &sum->all, 990);
	put_time(out, sum->all.longest);
}

static void put_head(FILE *out, const char *title)
{
	fprintf(out, "\n %9s %8s %8s %11s %11s %11s %11s  %s\n", "Count", "Failed", "Open", "p50",
		"p90", "p99", "Longest", title);
}

static void put_counts(FILE *out, const struct request_sum *sum)
{
	put_number(out, 9, sum->all.count);
	put_number(out, 8, sum->all.failed);
	put_number(out, 8, sum->all.open);
	put_times(out, sum);
}

static void put_endpoint(const struct request_sums *sums, FILE *out, const struct request_sum *sum)
{
	char program[64];

	put_counts(out, sum);
	text_make_safe(program, sizeof(program), request_sum_program(sums, sum));
	fprintf(out, "  %-6s %-15s %-10s ", request_role_name(&sum->example), program,
		film_protocol_name(sum->example.row.protocol));
	text_print_safe(out, sum->example.endpoint);
	fputc('\n', out);
}

static void put_peer(const struct request_sums *sums, FILE *out, const struct request_sum *sum)
{
	const struct film *film = sums->film;
	uint32_t first = film->threads[sum->example.row.thread].process;
	const struct film_process *process = &film->processes[first];
	double seconds = (double)(sums->to - sums->from) / 1e9, share = request_sum_share(sum);
	char peer[REQUEST_PEER_MAX];

	put_counts(out, sum);
	fprintf(out, " %9.1f", seconds > 0 ? (double)sum->all.count / seconds : 0);
	if (share >= 0)
		fprintf(out, " %7.1f%%", share);
	else
		fprintf(out, " %8s", "-");
	fputs("  ", out);
	text_print_safe(out, request_sum_program(sums, sum));
	if (sum->process)
		fprintf(out, " (%u)", process->pid);
	fputs(" -> ", out);
	text_print_safe(out, request_peer(&sum->example, peer, sizeof(peer)));
	fprintf(out, ", %s", film_protocol_name(sum->example.row.protocol));
	if (sum->server_program) {
		fputs(", by ", out);
		text_print_safe(out, film->processes[sum->server_program].comm);
	}
	if (sum->server)
		fprintf(out, " (%u)", film->processes[sum->server].pid);
	fputc('\n', out);
}

static void put_outcome(const struct request *request, FILE *out)
{
	const struct film_request *row = &request->row;

	if (row->flags & FILM_REQUEST_UNANSWERED)
		fputs(" no answer", out);
	else if (row->flags & FILM_REQUEST_OPEN)
		fputs("  unfinished", out);
	else if (row->status)
		fprintf(out, " %9u", row->status);
	else
		fprintf(out, " %9s", row->flags & FILM_REQUEST_FAILED ? "failed" : "ok");
}

static void put_request(const struct film *film, FILE *out, const struct request *request)
{
	const struct film_thread *thread = &film->threads[request->row.thread];
	char name[REQUEST_NAME_MAX], words[32];

	put_time(out, request->row.duration);
	text_duration(words, sizeof(words),
		      request_start(request) > film->info.start
			      ? request_start(request) - film->info.start
			      : 0);
	fprintf(out, " %11s", words);
	put_outcome(request, out);
	fprintf(out, "  %-6s ", request_role_name(request));
	text_print_safe(out, *request->path ? request->path : request->endpoint);
	if (request->row.flags & FILM_REQUEST_PATH_CUT)
		fputs("...", out);
	request_name(request, name);
	fputs("  ", out);
	text_print_safe(out, name);
	fputs("  ", out);
	text_print_safe(out, thread->comm);
	fprintf(out, " (%u)\n", thread->tid);
}

/* One that one program makes of another one is there twice, if both are filmed. */
static void put_sides(const struct request_sums *sums, FILE *out)
{
	char served[32], made[32];
	uint64_t count = 0;

	vec_foreach (&sums->endpoints, sum)
		if (sum->example.row.role == FILM_REQUEST_SERVED)
			count += sum->all.count;
	if (!count || count == sums->count)
		return;
	words_value(served, sizeof(served), "count", count);
	words_value(made, sizeof(made), "count", sums->count - count);
	fprintf(out, " (%s served, %s made)", served, made);
}

static void put_text(const struct request_sums *sums, uint64_t limit, FILE *out)
{
	char count[32], failed[32];
	size_t shown = 0;

	words_value(count, sizeof(count), "count", sums->count);
	words_value(failed, sizeof(failed), "count", sums->failed);
	fprintf(out, "%s request%s", count, text_plural(sums->count));
	put_sides(sums, out);
	fprintf(out, ", %s failed", failed);
	words_value(count, sizeof(count), "count", sums->open);
	fprintf(out, ", %s without a complete answer\n", count);
	put_head(out, "By program, protocol, endpoint");
	vec_foreach (&sums->endpoints, sum) {
		if (limit && shown++ == limit) {
			fprintf(out, "  %zu more; --limit 0 shows all\n",
				sums->endpoints.count - (size_t)limit);
			break;
		}
		put_endpoint(sums, out, sum);
	}
	if (sums->peers.count)
		put_head(out, "    Each s   Share  Made by, of");
	vec_foreach (&sums->peers, sum)
		put_peer(sums, out, sum);
	fprintf(out, "\n %10s %11s %9s  %s\n", "Slowest", "Began at", "Status",
		"Request, its id, thread");
	vec_foreach (&sums->slowest, request)
		put_request(sums->film, out, request);
	if (sums->slowest.count < sums->count) {
		words_value(count, sizeof(count), "count", sums->count - sums->slowest.count);
		fprintf(out, "  %s more; --limit 0 shows all\n", count);
	}
}

int show_requests(struct film *film, const struct question *q, const struct show_options *options,
		  FILE *out, uint64_t *samples, struct fail *why)
{
	struct request_sums sums;
	size_t slowest = !options->limit	    ? SIZE_MAX
			 : options->limit < SLOWEST ? (size_t)options->limit
						    : SLOWEST;
	int err = request_sums_make(film, &q->filter, slowest, &sums, why);

	*samples = sums.count;
	if (!err && sums.count)
		put_text(&sums, options->limit, out);
	request_sums_free(&sums);
	return err;
}
