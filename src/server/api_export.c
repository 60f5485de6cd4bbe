// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "exchange/folded/writer.h"
#include "exchange/pprof/writer.h"
#include "exchange/speedscope/writer.h"
#include "query/flame_prune.h"
#include "server/api.h"
#include "server/ask.h"
#include "server/put.h"
#include "show/show.h"

enum {
	NODES_MAX = 200000,
	TABLE_NAMES = 120, /* columns of a name */
	LACKS = 4,	   /* kinds of what a profile may lack */
};

struct export
{
	const struct store_answer *found;
	struct flame flame; /* of found, pruned to what a file may have */
	FILE *out;
};

/*
 * What the profile lacks of one side, as far as it is known: comments, of which readers show all.
 */
struct lacks {
	char words[2 * LACKS][64];
	char *at[2 * LACKS];
	size_t count;
};

static void list_lacks(const struct store_sum *sum, const char *side, struct lacks *to)
{
	const struct {
		const char *words;
		uint64_t count;
	} lacks[LACKS] = {
		{"lost", sum->lost},
		{"truncated stacks", sum->truncated},
		{"films that cannot be read", sum->films_damaged},
		{"films that were not read", sum->films_unread},
	};

	for (size_t i = 0; i < LACKS; i++) {
		if (!lacks[i].count)
			continue;
		to->at[to->count] = to->words[to->count];
		snprintf(to->at[to->count++], sizeof(to->words[0]), "%s%s: %llu", side,
			 lacks[i].words, (unsigned long long)lacks[i].count);
	}
}

static int export_pprof(const struct export *e)
{
	struct pprof_about about = {
		.from = e->found->sum.from,
		.duration = e->found->sum.to - e->found->sum.from,
	};
	struct lacks lacks = {.count = 0};

	list_lacks(&e->found->sum, "", &lacks);
	if (e->flame.is_diff)
		list_lacks(&e->found->before, "before: ", &lacks);
	about.comments = lacks.at;
	about.comment_count = lacks.count;
	return pprof_write_flame(&e->flame, &about, e->out);
}

static int export_svg(const struct export *e)
{
	return show_svg(&e->flame, e->out);
}

static int export_html(const struct export *e)
{
	return show_html(&e->flame, e->out);
}

static int export_speedscope(const struct export *e)
{
	return speedscope_write_flame(&e->flame, e->out);
}

static int export_folded(const struct export *e)
{
	return folded_write_flame(&e->flame, e->out);
}

static int export_table(const struct export *e)
{
	static const struct show_options options = {.name_width = TABLE_NAMES,
						    .order = FUNCTIONS_BY_SELF};
	const uint64_t whole[] = {e->found->sum.total, e->found->before.total};

	if (e->flame.is_diff)
		return show_flame_diff_table(&e->flame, &e->found->functions, whole, &options,
					     e->out);
	return show_flame_table(&e->flame, &e->found->functions, &options, e->out);
}

static int export_json(const struct export *e)
{
	struct json j = {.out = e->out};
	uint64_t others;
	int err;

	json_open(&j, NULL, '{');
	json_text(&j, "title", e->flame.title);
	json_text(&j, "event", e->flame.event);
	json_text(&j, "unit", e->flame.unit);
	put_sum(&j, "sum", &e->found->sum);
	if (e->flame.is_diff)
		put_sum(&j, "before", &e->found->before);
	err = put_flame(&j, &e->flame, NODES_MAX);
	if (!err)
		err = put_functions(&j, &e->found->functions,
				    e->flame.is_diff ? FUNCTIONS_AS_THEY_ARE : FUNCTIONS_BY_SELF,
				    SIZE_MAX, e->flame.is_diff, &others);
	json_close(&j, '}');
	fputc('\n', e->out);
	return err;
}

static const struct format {
	const char *name, *type, *file;
	bool is_packed, needs_page;
	int (*write)(const struct export *e);
} formats[] = {
	{"pprof", "application/octet-stream", "stackcam.pb.gz", .is_packed = true,
	 .write = export_pprof},
	{"svg", "image/svg+xml", "stackcam.svg", .write = export_svg},
	{"html", "text/html; charset=utf-8", "stackcam.html", .needs_page = true,
	 .write = export_html},
	{"speedscope", "application/json", "stackcam.speedscope.json", .write = export_speedscope},
	{"folded", "text/plain; charset=utf-8", "stackcam.folded", .write = export_folded},
	{"json", "application/json", "stackcam.json", .write = export_json},
	{"table", "text/plain; charset=utf-8", "stackcam.txt", .write = export_table},
};

static int find_format(const char *name, const struct format **format, struct fail *why)
{
	for (size_t i = 0; name && i < sizeof(formats) / sizeof(formats[0]); i++) {
		*format = &formats[i];
		if (strcmp(formats[i].name, name) != 0)
			continue;
		if ((*format)->needs_page && !show_has_page())
			return fail(why, -EINVAL, NULL,
				    "this stackcam was built without its web page, of which "
				    "format %s is made; choose another format",
				    name);
		return 0;
	}
	return fail(why, -EINVAL, NULL,
		    "format is one of pprof, svg, html, speedscope, folded, json, table");
}

/* "15 min of shop on host7, 2026-11-21 14:32:08 UTC" */
static void make_words(const struct server_ask *ask, const struct store_sum *sum, char *to,
		       size_t size)
{
	const struct store_ask *asked = &ask->ask;
	time_t seconds = (time_t)(sum->from / 1000000000);
	char length[32], start[64] = "";
	struct tm utc;

	text_duration(length, sizeof(length), sum->to - sum->from);
	if (gmtime_r(&seconds, &utc))
		strftime(start, sizeof(start), ", %Y-%m-%d %H:%M:%S UTC", &utc);
	snprintf(to, size, "%s%s%.100s%s%.100s%s", length, asked->service ? " of " : "",
		 asked->service ? asked->service : "", asked->host ? " on " : "",
		 asked->host ? asked->host : "", start);
}

/* before: of a comparison; else null. */
static int export(const struct format *format, const struct server_ask *ask,
		  const struct server_ask *before, const struct store_answer *found,
		  struct answer *answer, struct fail *why)
{
	struct export e = {.found = found, .out = answer->out};
	char now_words[320], before_words[320] = "", title[800];
	uint32_t hidden;
	int err = flame_prune(&found->flame, NODES_MAX, &e.flame, &hidden);

	make_words(ask, &found->sum, now_words, sizeof(now_words));
	if (before)
		make_words(before, &found->before, before_words, sizeof(before_words));
	snprintf(title, sizeof(title), "%.64s, %s%s%s", found->flame.event, now_words,
		 before ? ", compared with " : "", before_words);
	e.flame.title = title;
	answer->type = format->type;
	answer->disposition = format->file;
	if (format->is_packed)
		answer->packed = "";
	if (!err)
		err = format->write(&e);
	flame_free(&e.flame);
	return err ? fail_errno(why, err, NULL, "cannot export the profile") : 0;
}

int api_export(const struct http_request *request, struct answer *answer, struct fail *why)
{
	bool is_diff = ask_has_before(request->url);
	const struct format *format = NULL;
	struct store_answer found = {0};
	struct server_ask before, now;
	int err = ask_request_two(request, "format request", &before, &now, why);

	if (!err)
		err = ask_of_request(request->url, &now, why);
	if (!err)
		err = ask_of_request(request->url, &before, why);
	if (!err)
		err = find_format(request_parameter(request, "format"), &format, why);
	if (!err && is_diff)
		err = store_diff(request->store, &before.ask, &now.ask, &found, why);
	else if (!err)
		err = store_flame(request->store, &now.ask, &found, why);
	if (!err)
		err = export(format, &now, is_diff ? &before : NULL, &found, answer, why);
	store_answer_free(&found);
	ask_free(&before);
	ask_free(&now);
	return err;
}
