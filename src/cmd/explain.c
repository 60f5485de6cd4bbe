// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "film/events.h"
#include "film/reader.h"
#include "query/explain/answer.h"
#include "show/explain.h"
#include "show/output.h"
#include "show/spans.h"
#include "show/words.h"
#include "store/spans_db.h"

enum {
	EXPLAINED_MAX = 1000,
};

struct arguments {
	struct filter filter;
	const char *film, *output, *spans;
	struct explain_wanted wanted;
	bool is_json, is_gpu, help;
};

enum {
	OPTION_FORMAT = 1,
	OPTION_FROM,
	OPTION_TO,
	OPTION_SLOWEST,
	OPTION_REQUEST,
	OPTION_ENDPOINT,
	OPTION_SPANS,
	OPTION_GPU,
};

static const struct option long_options[] = {
	{"process", required_argument, NULL, 'p'},
	{"pid", required_argument, NULL, 'p'},
	{"thread", required_argument, NULL, 't'},
	{"tid", required_argument, NULL, 't'},
	{"name", required_argument, NULL, 'n'},
	{"from", required_argument, NULL, OPTION_FROM},
	{"to", required_argument, NULL, OPTION_TO},
	{"slowest", required_argument, NULL, OPTION_SLOWEST},
	{"request", required_argument, NULL, OPTION_REQUEST},
	{"endpoint", required_argument, NULL, OPTION_ENDPOINT},
	{"spans", required_argument, NULL, OPTION_SPANS},
	{"gpu", no_argument, NULL, OPTION_GPU},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam explain [OPTION…] [FILM]\n"
	"\n"
	"Says in sentences why threads took as long as they did: what they waited for, what the\n"
	"threads that they waited for did meanwhile, and what they did themselves. The parts add\n"
	"up to the time. The film (default: stackcam.film) needs the lives of threads:\n"
	"'stackcam record -e threads,on-cpu', with -a to see what other processes did.\n"
	"\n"
	"Without an option it explains the slowest request of a film that has requests ('-e\n"
	"requests'). Of other films, or with --thread, it lists the groups of threads, and "
	"explains\n"
	"the thread that ran or waited most.\n"
	"\n"
	"  -p, --process PID    threads of this process; may be repeated\n"
	"  -t, --thread TID     this thread; may be repeated\n"
	"  -n, --name GLOB      threads, or processes, of this name; may be repeated\n"
	"      --from TIME      from then on: 2.5s after the film's start, or 14:32:08 of the day\n"
	"      --to TIME        until then\n"
	"      --request ID     this request: the id that it carried, or its number\n"
	"      --endpoint GLOB  requests of this endpoint, 'GET /orders/*'\n"
	"      --slowest N      explain the N slowest requests, or, without requests, the N "
	"threads\n"
	"                       that ran or waited most (default 1)\n"
	"      --gpu            why GPUs idled, in parts that add up to the film's time; the film\n"
	"                       needs 'record -e gpu-lanes,threads,on-cpu'\n"
	"      --spans STORE    list the spans of each request that clients of OpenTelemetry sent "
	"to\n"
	"                       the store of 'stackcam serve' in this folder\n"
	"      --format FORMAT  text (the default) or json\n"
	"  -o, --output FILE    write there instead of standard output\n"
	"  -h, --help           this text\n"
	"\n"
	"Examples:\n"
	"  stackcam record -a -e threads,on-cpu -d 10 && stackcam explain\n"
	"  stackcam explain --process 1234 --slowest 3 x.film\n"
	"  stackcam explain --thread 1240 --from 14:32:08 --to 14:32:09 x.film\n"
	"  stackcam explain --gpu x.film\n"
	"  stackcam explain --format json x.film | jq '.requests[0].parts[0].words'\n";

/* Returns 0 or an exit status. */
static int parse_question(struct arguments *a, int option, const char *value)
{
	struct question q = {.filter = a->filter};
	struct fail why = {0};
	int err = question_parse(&q, option, value, &why);

	a->filter = q.filter;
	return err ? cmd_usage("explain", "%s", why.what) : 0;
}

/* Returns 0 or an exit status. */
static int parse_option(struct arguments *a, int option, char **argv)
{
	uint64_t slowest;

	switch (option) {
	case 'p':
		return parse_question(a, QUESTION_PID, optarg);
	case 't':
		return parse_question(a, QUESTION_TID, optarg);
	case 'n':
		return parse_question(a, QUESTION_COMM, optarg);
	case OPTION_FROM:
		return parse_question(a, QUESTION_FROM, optarg);
	case OPTION_TO:
		return parse_question(a, QUESTION_TO, optarg);
	case OPTION_SLOWEST:
		if (text_parse_u64(optarg, 1, EXPLAINED_MAX, &slowest))
			return cmd_usage("explain", "'%s' is not a number from 1 to %d", optarg,
					 EXPLAINED_MAX);
		a->wanted.slowest = slowest;
		return 0;
	case OPTION_REQUEST:
		a->wanted.id = optarg;
		return 0;
	case OPTION_SPANS:
		a->spans = optarg;
		return 0;
	case OPTION_GPU:
		a->is_gpu = true;
		return 0;
	case OPTION_ENDPOINT:
		a->wanted.endpoint = optarg;
		return 0;
	case OPTION_FORMAT:
		a->is_json = !strcmp(optarg, "json");
		if (!a->is_json && strcmp(optarg, "text"))
			return cmd_usage("explain",
					 "unknown format '%s'; the formats are: text, json",
					 optarg);
		return 0;
	case 'o':
		a->output = strcmp(optarg, "-") ? optarg : NULL;
		return 0;
	case 'h':
		a->help = true;
		return 0;
	default:
		return cmd_usage_option("explain", argv, long_options);
	}
}

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "p:t:n:o:h", long_options, NULL)) != -1) {
		status = parse_option(a, option, argv);
		if (status || a->help)
			return status;
	}
	if (a->spans && a->is_json)
		return cmd_usage("explain", "--spans is for text; the API has /api/v1/spans");
	if (a->is_gpu && (a->spans || a->wanted.id || a->wanted.endpoint))
		return cmd_usage("explain", "--gpu explains devices, not requests");
	if (optind + 1 < argc)
		return cmd_usage("explain", "one film at a time; '%s' is too many",
				 argv[optind + 1]);
	if (optind < argc)
		a->film = argv[optind];
	return 0;
}

enum {
	SPANS_SHOWN = 200
};

/* The spans of a request's trace, or of its process in its time. 0 or a negative errno. */
static int put_spans(const struct explainer *e, const struct explanation *x, struct spans_db *db,
		     FILE *out, struct fail *why)
{
	const struct film_info *info = &e->film->info;
	const struct film_thread *thread = &e->film->threads[x->thread];
	uint64_t start = x->from + (uint64_t)info->wall_offset;
	uint8_t trace[SPAN_TRACE];
	struct spans_wanted wanted = {
		.host = info->hostname,
		.pids = &e->film->processes[thread->process].pid,
		.pid_count = 1,
		.from = start,
		.to = x->to + (uint64_t)info->wall_offset,
		.limit = SPANS_SHOWN,
	};
	struct spans_found found;
	int err;

	if (x->request && span_trace_parse(x->request->id, trace))
		wanted = (struct spans_wanted){
			.trace = trace, .to = INT64_MAX, .limit = SPANS_SHOWN};
	err = spans_db_find(db, &wanted, &found, why);
	if (!err && found.count)
		fprintf(out, wanted.trace ? "Spans of its trace:\n"
					  : "Spans of its process in that time:\n");
	if (!err && show_spans_text(&found, start, out))
		err = fail_errno(why, -ENOMEM, NULL, "cannot list spans");
	if (!err && found.is_cut)
		fprintf(out, "and more than %d others\n", SPANS_SHOWN - 1);
	spans_found_free(&found);
	return err;
}

struct putting {
	const struct explainer *e;
	struct spans_db *db;
	FILE *out;
	struct fail *why;
};

static int put_behind(void *context, const struct explanation *x)
{
	const struct putting *p = context;

	return p->db ? put_spans(p->e, x, p->db, p->out, p->why) : 0;
}

/* 0 or a negative errno with *why filled. */
static int write_answer(const struct arguments *a, struct explainer *e, FILE *out, struct fail *why)
{
	struct explain_answer answer;
	struct spans_db *db = NULL;
	char path[PATH_MAX];
	int err = explain_answer_make(&answer, e, &a->filter, &a->wanted, why);

	if (!err && a->spans) {
		snprintf(path, sizeof(path), "%s/spans.db", a->spans);
		err = spans_db_open(path, true, &db, why);
	}
	if (!err && a->is_json && show_explanations_json(e, &answer, out))
		err = fail_errno(why, -ENOMEM, NULL, "cannot explain '%s'", a->film);
	else if (!err && !a->is_json)
		err = show_explain_answer(e, &answer, put_behind,
					  &(struct putting){e, db, out, why}, out, why);
	spans_db_free(db);
	explain_answer_free(&answer);
	return err;
}

static int explain(const struct arguments *a, struct film *film, struct fail *why)
{
	/* one who names a thread asks for its time */
	bool wants_requests = explain_wants_requests(&a->wanted) ||
			      (!a->filter.tids.count && requests_event(film));
	struct explainer e;
	struct output output;
	int err = explainer_init(&e, film, &a->filter, wants_requests ? &a->wanted : NULL, why);
	int closed;

	if (!err)
		err = output_open(&output, a->output, why);
	if (!err) {
		output_like(&output, a->film);
		err = write_answer(a, &e, output.file, why);
		if (!err && !a->is_json && !fflush(output.file))
			words_lost(film, e.event, e.lanes, stderr);
		closed = output_close(&output, !err, err ? NULL : why);
		err = err ? err : closed;
	}
	explainer_free(&e);
	return err;
}

/* e: null where the film has no lives of threads. */
static int write_gpu(const struct arguments *a, struct film *film, struct explainer *e,
		     const struct filter *filter, struct fail *why)
{
	struct explain_gpu gpu;
	struct output output;
	int err = explain_gpu_make(&gpu, film, e, filter, why), closed;

	if (!err)
		err = output_open(&output, a->output, why);
	if (!err) {
		output_like(&output, a->film);
		err = a->is_json ? show_explain_gpu_json(&gpu, film, e, output.file, why)
				 : show_explain_gpu(&gpu, film, e, output.file, why);
		if (!err && !a->is_json && !fflush(output.file))
			words_lost(film, film_find_event(film, event_type(EVENT_GPU_LANES)->name),
				   e ? e->event : 0, stderr);
		closed = output_close(&output, !err, err ? NULL : why);
		err = err ? err : closed;
	}
	explain_gpu_free(&gpu);
	return err;
}

/* Threads other than those that launch are part of what these waited for. */
static int explain_gpu(const struct arguments *a, struct film *film, struct fail *why)
{
	const struct filter times = {.from = a->filter.from, .to = a->filter.to};
	struct explainer e = {0};
	int err = 0;

	if (slices_event(film))
		err = explainer_init(&e, film, &times, NULL, why);
	if (!err)
		err = write_gpu(a, film, e.film ? &e : NULL, &a->filter, why);
	explainer_free(&e);
	return err;
}

static int run(const struct arguments *a)
{
	struct film *film = NULL;
	struct fail why = {0};
	int err = film_open(a->film, &film, &why);

	if (!err)
		film_look_at_end(film);
	if (!err)
		err = a->is_gpu ? explain_gpu(a, film, &why) : explain(a, film, &why);
	if (film)
		words_cut_off(film, NULL, stderr);
	film_free(film);
	if (err == -EPIPE && !a->output)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}

int cmd_explain(int argc, char **argv)
{
	struct arguments a = {.film = "stackcam.film", .wanted.slowest = 1};
	int status = parse(&a, argc, argv);
	struct question q = {.filter = a.filter};

	if (!status && a.help)
		fputs(help, stdout);
	else if (!status)
		status = run(&a);
	question_free(&q);
	return status;
}
