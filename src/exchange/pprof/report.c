// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "film/events.h"
#include "exchange/pprof/film.h"

static uint64_t starts_at(const struct view *view)
{
	__int128 start = (__int128)view->from + view->film->info.wall_offset;

	return start > 0 ? (uint64_t)start : 0;
}

typedef vec(char *) comments_vec;

/* The text is the list's from here on. */
static bool add_comment(comments_vec *to, char *text)
{
	if (vec_push(to, text))
		return true;
	free(text);
	return false;
}

/* Readers show these comments: what is missing must be known there too. side: "", or "before: ". */
static bool list_comments(const struct view *view, const char *side, comments_vec *to)
{
	const struct film_info *info = &view->film->info;
	char *text;
	bool ok = asprintf(&text, "%srecorded by: %s", side, info->command) >= 0 &&
		  add_comment(to, text) &&
		  asprintf(&text, "%shost: %s", side, info->hostname) >= 0 && add_comment(to, text);

	vec_foreach (&view->losses, loss)
		ok = ok &&
		     asprintf(&text, "%slost: %s %llu", side, loss->words,
			      (unsigned long long)loss->count) >= 0 &&
		     add_comment(to, text);
	vec_foreach (&view->stacks.reasons, reason)
		ok = ok &&
		     asprintf(&text, "%struncated stacks: %s %llu", side, reason->words,
			      (unsigned long long)reason->count) >= 0 &&
		     add_comment(to, text);
	return ok;
}

static void free_comments(comments_vec *comments)
{
	vec_foreach (comments, text)
		free(*text);
	vec_free(comments);
}

int pprof_write_report(const struct report *report, FILE *out)
{
	const struct view *view = &report->view;
	const struct film_event *event = view->event;
	struct pprof_header header = {
		.counted = event_of(event)->noun,
		.name = event->name,
		.unit = event->unit,
		.period = event_period(event->unit, event->frequency),
		.time = starts_at(view),
		.duration = view->to - view->from,
	};
	comments_vec comments = {0};
	struct pprof p;
	int err = list_comments(view, "", &comments) ? 0 : -ENOMEM, finished;

	header.marks = view_marks(view, &header.mark_count);
	pprof_start(&p, view->film, &header, out);
	for (size_t i = 0; !err && i < comments.count; i++)
		pprof_comment(&p, "%s", comments.at[i]);
	vec_foreach (&view->weights, weight) {
		pprof_stack(&p, view->paths, weight->stack, TREE_DEPTH_MAX);
		pprof_sample(&p, weight->group, weight->samples, weight->value);
	}
	finished = pprof_finish(&p);
	free_comments(&comments);
	return err ? err : finished;
}

int pprof_write_diff(const struct diff *diff, FILE *out)
{
	struct pprof_about about = {
		.from = starts_at(&diff->now),
		.duration = diff->now.to - diff->now.from,
	};
	comments_vec comments = {0};
	int err = -ENOMEM;

	if (list_comments(&diff->now, "", &comments) &&
	    list_comments(&diff->before, "before: ", &comments)) {
		about.comments = comments.at;
		about.comment_count = comments.count;
		err = pprof_write_flame(&diff->flame, &about, out);
	}
	free_comments(&comments);
	return err;
}
