// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "query/explain/logs.h"
#include "show/explain.h"
#include "show/explain_lanes.h"
#include "show/json_film.h"
#include "show/last_scene.h"
#include "show/logs.h"

enum {
	FRAMES_MAX = 128,
	LOGS_TOLD = 1000,
	LOG_CHARACTERS = 2048,
};

struct writer {
	struct json j;
	struct explainer *e;
	const struct explanation *x;
	int err;
};

/* words as a text, "" and all; they are empty then */
static void put_words(struct writer *w, const char *key, struct buf *words)
{
	bool is_empty = !words->count;

	buf_put_u8(words, 0);
	if (words->failed)
		w->err = -ENOMEM;
	else if (is_empty)
		json_null(&w->j, key);
	else
		json_text(&w->j, key, (const char *)words->at);
	buf_free(words);
	*words = (struct buf){0};
}

static void put_thread(struct writer *w, const char *key, uint32_t thread)
{
	const struct film *film = w->e->film;

	if (!thread) {
		json_null(&w->j, key);
		return;
	}
	json_open(&w->j, key, '{');
	json_u64(&w->j, "pid", film->processes[film->threads[thread].process].pid);
	json_u64(&w->j, "tid", film->threads[thread].tid);
	json_text(&w->j, "comm", film->threads[thread].comm);
	json_close(&w->j, '}');
}

static void put_process(struct writer *w, const char *key, uint32_t process)
{
	const struct film *film = w->e->film;

	if (!process) {
		json_null(&w->j, key);
		return;
	}
	json_open(&w->j, key, '{');
	json_u64(&w->j, "pid", film->processes[process].pid);
	json_text(&w->j, "comm", film->processes[process].comm);
	json_close(&w->j, '}');
}

/* The innermost frame first. */
static void put_stack(struct writer *w, const struct explain_part *part)
{
	const struct explain_stacks *stacks = &w->e->stacks;
	uint32_t stack = part->kind == SLICE_ON_CPU  ? part->functions[0].stack
			 : slice_is_wait(part->kind) ? part->stack
						     : 0;
	unsigned int frames = 0;
	char name[256];

	if (stacks->fold.into)
		stack = stacks->fold.into[stack];
	json_open(&w->j, "stack", '[');
	for (; stack && frames < FRAMES_MAX; stack = stacks->paths[stack].parent, frames++)
		json_text(&w->j, NULL, explain_stack_name(stacks, stack, name, sizeof(name)));
	json_close(&w->j, ']');
}

static void put_functions(struct writer *w, const struct explain_part *part)
{
	char name[256];

	json_u64(&w->j, "samples", part->samples);
	json_open(&w->j, "functions", '[');
	for (size_t i = 0; i < EXPLAIN_NAMED && part->functions[i].samples; i++) {
		json_open(&w->j, NULL, '{');
		json_text(&w->j, "name",
			  explain_stack_name(&w->e->stacks, part->functions[i].stack, name,
					     sizeof(name)));
		json_text(&w->j, "image",
			  explain_stack_image(&w->e->stacks, part->functions[i].stack));
		json_u64(&w->j, "samples", part->functions[i].samples);
		json_close(&w->j, '}');
	}
	json_close(&w->j, ']');
}

static void put_behind(struct writer *w, const struct explain_part *part)
{
	json_u64(&w->j, "cpu", w->e->histories.slices[part->slice].cpu);
	json_u64(&w->j, "beside", part->beside);
	json_bool(&w->j, "throttled", explain_is_throttled(part));
	json_open(&w->j, "behind", '[');
	for (size_t i = 0; i < EXPLAIN_NAMED && part->behind[i].ns; i++) {
		json_open(&w->j, NULL, '{');
		json_u64(&w->j, "duration", part->behind[i].ns);
		put_thread(w, "thread", part->behind[i].thread);
		json_close(&w->j, '}');
	}
	json_close(&w->j, ']');
}

/* Of a control group, for which the kernel freed memory. */
static void put_limit(struct writer *w, const struct explain_limit *limit)
{
	if (!limit) {
		json_null(&w->j, "group_limit");
		return;
	}
	json_open(&w->j, "group_limit", '{');
	json_text(&w->j, "group", limit->group);
	json_u64(&w->j, "bytes", limit->bytes);
	json_close(&w->j, '}');
}

static void put_parts(struct writer *w, uint32_t first);

static void put_part(struct writer *w, const struct explain_part *part)
{
	struct buf words = {0};

	json_open(&w->j, NULL, '{');
	json_text(&w->j, "kind", explain_kind(w->e, part));
	json_u64(&w->j, "duration", part->duration);
	explain_object_words(w->e, part, &words);
	put_words(w, "object", &words);
	json_text(&w->j, "disk", explain_disk(w->e, part));
	put_limit(w, explain_reclaim_limit(w->e, part));
	put_thread(w, "thread", part->thread);
	put_thread(w, "waker", part->waker);
	put_process(w, "peer", explain_peer(w->e, part));
	put_thread(w, "holder",
		   part->queue	? part->first_holder
		   : part->lock ? part->lock->holder
				: 0);
	json_u64(&w->j, "queue", part->queue);
	json_text(&w->j, "end",
		  part->is_followed ? "thread" : critical_end_name((enum critical_end)part->ended));
	explain_part_words(w->e, part, &words);
	put_words(w, "words", &words);
	explain_evidence_words(w->e, part, &words);
	put_words(w, "evidence", &words);
	json_u64(&w->j, "count", part->count);
	json_u64(&w->j, "retries", part->retries);
	json_u64(&w->j, "longest", part->longest);
	json_bool(&w->j, "likely", part->is_likely || part->is_passed_on);
	put_stack(w, part);
	if (part->kind == SLICE_ON_CPU)
		put_functions(w, part);
	if (part->works[0].ns)
		json_put_works(&w->j, w->e->film, part->works);
	if (part->ended == CRITICAL_READY && part->slice != HISTORY_NONE)
		put_behind(w, part);
	put_parts(w, part->first);
	json_close(&w->j, '}');
}

/* Parts lie in each other at most as deep as a walk follows. */
static void put_parts(struct writer *w, uint32_t first)
{
	json_open(&w->j, "parts", '[');
	for (uint32_t i = first; i; i = w->x->parts.at[i - 1].next)
		put_part(w, &w->x->parts.at[i - 1]);
	json_close(&w->j, ']');
}

int show_explain_parts_json(struct json *j, struct explainer *e, const struct explanation *x)
{
	struct writer w = {.j = *j, .e = e, .x = x};

	put_parts(&w, x->first);
	*j = w.j;
	return w.err;
}

static void put_difference(struct writer *w, const struct request *request)
{
	struct explain_difference d = {0};

	if (w->x->is_compared && explain_compare(w->e, request, &d))
		w->err = -ENOMEM;
	if (d.ns <= 0) {
		json_null(&w->j, "slow_ones");
		return;
	}
	json_open(&w->j, "slow_ones", '{');
	json_u64(&w->j, "requests", d.requests);
	json_u64(&w->j, "slow", d.slow);
	json_u64(&w->j, "usual", d.usual);
	json_i64(&w->j, "difference", d.ns);
	json_text(&w->j, "part", d.words);
	json_text(&w->j, "process", d.process ? w->e->film->processes[d.process].comm : "");
	json_close(&w->j, '}');
}

/* What its thread had beside it; null: nothing, or the thread had it from another one. */
static void put_at_once(struct writer *w)
{
	const struct film *film = w->e->film;
	struct explain_at_once others = explain_others(w->e, w->x);

	if (!others.count) {
		json_null(&w->j, "at_once");
		return;
	}
	json_open(&w->j, "at_once", '{');
	json_u64(&w->j, "requests", others.count);
	json_u64(&w->j, "longest", others.longest);
	json_text(&w->j, "endpoint", film->functions[film->frames[others.endpoint].function].name);
	json_close(&w->j, '}');
}

/* The first request that it made, where that was late; null: it was not, or there was none. */
static void put_asked_late(struct writer *w)
{
	uint64_t after;
	const struct explain_made *made = explain_asked_late(w->e, w->x, &after);

	if (!made) {
		json_null(&w->j, "asked_late");
		return;
	}
	json_open(&w->j, "asked_late", '{');
	json_u64(&w->j, "after", after);
	json_text(&w->j, "endpoint", made->endpoint);
	json_text(&w->j, "peer", made->peer);
	json_close(&w->j, '}');
}

static void put_request(struct writer *w)
{
	const struct request *request = w->x->request;
	char text[REQUEST_NAME_MAX];

	if (!request) {
		json_null(&w->j, "id");
		json_null(&w->j, "endpoint");
		return;
	}
	request_name(request, text);
	json_text(&w->j, "id", text);
	json_text(&w->j, "endpoint", request->endpoint);
	json_text(&w->j, "path", request->path);
	json_text(&w->j, "role", request_role_name(request));
	json_u64(&w->j, "status", request->row.status);
	json_bool(&w->j, "open", request->row.flags & FILM_REQUEST_OPEN);
	put_difference(w, request);
	put_at_once(w);
	put_asked_late(w);
	put_thread(w, "received_by", request->row.thread);
}

static void put_disk_users(struct writer *w)
{
	struct explain_disk_users users;

	explain_disk_users(w->e, w->x, &users);
	json_open(&w->j, "disk_users", '[');
	for (unsigned int i = 0; i < users.count; i++) {
		struct buf words = {0};

		json_open(&w->j, NULL, '{');
		put_thread(w, "thread", users.all[i].thread);
		json_u64(&w->j, "duration", users.all[i].ns);
		explain_disk_user_words(w->e, &users.all[i], &words);
		put_words(w, "words", &words);
		json_close(&w->j, '}');
	}
	json_close(&w->j, ']');
}

/* Lines of logs, as far as they have room. */
struct logs_writer {
	struct writer *w;
	size_t told;
};

static void put_log(void *context, const struct log_line *line)
{
	struct logs_writer *logs = context;
	const struct log_shown shown = log_shown_of(logs->w->e->film, line);
	struct json *j = &logs->w->j;
	char time[64];

	if (logs->told++ >= LOGS_TOLD)
		return;
	json_open(j, NULL, '{');
	film_rfc3339(&logs->w->e->film->info, line->time, time, sizeof(time));
	json_text(j, "time", time);
	json_u64(j, "after", line->time - logs->w->x->from);
	json_put_log(j, &shown, LOG_CHARACTERS);
	json_close(j, '}');
}

static void put_logs(struct writer *w)
{
	struct logs_writer logs = {w, 0};
	size_t count;

	json_open(&w->j, "logs", '[');
	count = explain_each_log(w->e, w->x, put_log, &logs);
	json_close(&w->j, ']');
	json_u64(&w->j, "logs_left", count > LOGS_TOLD ? count - LOGS_TOLD : 0);
}

/* What to look at first; null: nothing is known. */
static void put_cause(struct writer *w)
{
	const struct explain_part *cause = explain_cause(w->x);
	struct buf words = {0};

	if (!cause) {
		json_null(&w->j, "cause");
		return;
	}
	json_open(&w->j, "cause", '{');
	json_text(&w->j, "kind", explain_kind(w->e, cause));
	json_text(&w->j, "words", explain_kind_words(explain_kind(w->e, cause)));
	json_u64(&w->j, "duration", cause->duration);
	explain_object_words(w->e, cause, &words);
	put_words(w, "object", &words);
	json_text(&w->j, "disk", explain_disk(w->e, cause));
	put_thread(w, "thread", cause->thread);
	json_close(&w->j, '}');
}

static void put_explanation(struct writer *w)
{
	const struct explanation *x = w->x;
	const struct film *film = w->e->film;
	const struct film_thread *thread = &film->threads[x->thread];
	struct explain_advice advice = explain_advise(w->e, x);
	char time[64];

	json_open(&w->j, NULL, '{');
	put_request(w);
	json_u64(&w->j, "pid", film->processes[thread->process].pid);
	json_u64(&w->j, "tid", thread->tid);
	json_text(&w->j, "comm", thread->comm);
	film_rfc3339(&film->info, x->from, time, sizeof(time));
	json_text(&w->j, "start", time);
	json_u64(&w->j, "duration", x->to - x->from);
	json_u64(&w->j, "unexplained", explain_unexplained(x));
	put_cause(w);
	json_text(&w->j, "more_threads", advice.more_threads);
	json_text(&w->j, "more_threads_why", advice.why);
	json_put_unlinked(&w->j, w->e->unlinked.of_process[thread->process] |
					 (x->no_lane ? unlinked_lanes(film) : 0));
	put_disk_users(w);
	put_logs(w);
	json_u64(&w->j, "steps", x->steps);
	json_u64(&w->j, "not_followed", x->too_deep);
	put_parts(w, x->first);
	json_close(&w->j, '}');
}

static void put_group(struct writer *w, const struct explain_group *group)
{
	const struct film *film = w->e->film;
	char name[256];

	explain_group_name(film, group, name, sizeof(name));
	json_open(&w->j, NULL, '{');
	json_text(&w->j, "name", name);
	json_u64(&w->j, "pid", film->processes[group->process].pid);
	json_text(&w->j, "process", film->processes[group->process].comm);
	json_u64(&w->j, "threads", group->threads);
	json_u64(&w->j, "life", group->life);
	json_u64(&w->j, "conditions", group->conditions);
	json_open(&w->j, "states", '{');
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++)
		if (group->ns[kind])
			json_u64(&w->j, slice_kind_name(kind), group->ns[kind]);
	json_close(&w->j, '}');
	json_close(&w->j, '}');
}

int show_explanations_json(struct explainer *e, const struct explain_answer *answer, FILE *out)
{
	struct writer w = {.j = {.out = out}, .e = e};
	struct view_reasons losses = {0};

	if (view_count_losses(&losses, e->film, e->event, e->lanes))
		return -ENOMEM;
	json_open(&w.j, NULL, '{');
	json_put_film(&w.j, e->film, e->from, e->to);
	json_put_reasons(&w.j, "loss", &losses);
	put_last_scenes(&w.j, e, &answer->scenes);
	json_open(&w.j, "groups", '[');
	vec_foreach (&answer->groups.all, group)
		put_group(&w, group);
	json_close(&w.j, ']');
	put_explain_lanes(&w.j, e, &answer->lanes);
	json_open(&w.j, "requests", '[');
	for (size_t i = 0; i < answer->count; i++) {
		w.x = &answer->all[i];
		put_explanation(&w);
	}
	json_close(&w.j, ']');
	json_close(&w.j, '}');
	fputc('\n', out);
	view_free_reasons(&losses);
	return w.err;
}
