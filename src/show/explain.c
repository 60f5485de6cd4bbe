// SPDX-License-Identifier: Apache-2.0
#include "show/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/explain/logs.h"
#include "show/logs.h"
#include "show/words.h"

enum {
	DEPTH_SHOWN = 8,
	PARTS_SHOWN = 12,
	LOGS_SHOWN = 20,
};

struct printer {
	struct explainer *e;
	const struct explanation *x;
	FILE *out;
	uint64_t least; /* ns: parts that are shorter are summed up */
};

static void put_time(FILE *out, unsigned int depth, uint64_t ns)
{
	char words[32];

	words_value(words, sizeof(words), "ns", ns);
	fprintf(out, "%*s%12s ", (int)depth * 4, "", words);
}

/* Appends words to out, harmless, and empties them. 0 or -ENOMEM. */
static int put_words(FILE *out, struct buf *words)
{
	int err = words->failed ? -ENOMEM : 0;

	buf_put_u8(words, 0);
	if (words->failed)
		err = -ENOMEM;
	if (!err)
		text_print_safe(out, (const char *)words->at);
	words->count = 0;
	return err;
}

static int put_part(struct printer *t, const struct explain_part *part, unsigned int depth)
{
	struct buf words = {0};
	char longest[32];
	int err;

	put_time(t->out, depth, part->duration);
	explain_part_words(t->e, part, &words);
	if (part->count > 1 && slice_is_wait(part->kind) && !part->is_queue) {
		words_value(longest, sizeof(longest), "ns", part->longest);
		buf_printf(&words, " (%llu times, at most %s)", (unsigned long long)part->count,
			   longest);
	}
	if (part->retries)
		buf_printf(&words, " (begun anew %llu time%s, when its timeout was over)",
			   (unsigned long long)part->retries, part->retries == 1 ? "" : "s");
	if (part->first && depth + 1 < DEPTH_SHOWN)
		buf_put_text(&words, part->queue ? ":" : ", which spent");
	err = put_words(t->out, &words);
	fputc('\n', t->out);
	buf_free(&words);
	return err;
}

/* The parts of one, each with its own parts. The depth of recursion is bounded. */
static int put_parts(struct printer *t, uint32_t first, unsigned int depth)
{
	uint64_t rest = 0, rows = 0, left = 0;
	int err = 0;

	for (uint32_t i = first; !err && i; i = t->x->parts.at[i - 1].next) {
		const struct explain_part *part = &t->x->parts.at[i - 1];

		/* that is the last row */
		if (!depth && explain_is_unexplained(part))
			continue;
		if (rows >= PARTS_SHOWN || (rows && part->duration < t->least)) {
			rest += part->duration;
			left++;
			continue;
		}
		rows++;
		err = put_part(t, part, depth);
		if (!err && part->first && depth + 1 < DEPTH_SHOWN)
			err = put_parts(t, part->first, depth + 1);
	}
	if (left) {
		put_time(t->out, depth, rest);
		fprintf(t->out, "in %llu smaller part%s\n", (unsigned long long)left,
			left == 1 ? "" : "s");
	}
	return err;
}

/* "Its longest cause is time ready but not running in orders (12)." */
static int put_cause(const struct printer *t, const struct explain_part *cause, bool is_other)
{
	struct buf words = {0};
	int err;

	buf_printf(&words, "Its longest %scause is %s in ", is_other ? "other " : "",
		   explain_kind_words(explain_kind(t->e, cause)));
	explain_thread_words(t->e, cause->thread, 0, &words);
	buf_put_text(&words, ". ");
	err = put_words(t->out, &words);
	buf_free(&words);
	return err;
}

/* An event loop that has little to do is not slow for that. */
static void put_without_work(const struct printer *t, uint64_t idle, uint64_t answers)
{
	bool has_requests = film_find_event(t->e->film, event_type(EVENT_REQUESTS)->name);
	char time[32];

	words_value(time, sizeof(time), "ns", idle);
	fprintf(t->out, "For %s (%.0f %%) it waited for new work", time,
		words_percent(idle, t->x->to - t->x->from));
	if (answers) {
		words_value(time, sizeof(time), "ns", answers);
		fprintf(t->out,
			", or, for up to %s of that, for answers on connections that it "
			"seems to have opened%s",
			time, has_requests ? "" : " (-e requests tells)");
	}
	fputs(". ", t->out);
}

static int put_advice(const struct printer *t)
{
	const struct explain_part *cause = explain_cause(t->x);
	struct explain_advice advice = explain_advise(t->e, t->x);
	uint64_t whole = t->x->to - t->x->from, idle = explain_without_work(t->x);
	uint64_t answers = explain_perhaps_answers(t->e, t->x);
	bool is_inner = cause && cause != &t->x->parts.at[t->x->first - 1];
	char gain[32];
	int err;

	if (!cause || (is_inner && idle))
		put_without_work(t, idle, answers);
	err = is_inner ? put_cause(t, cause, answers) : 0;
	if (!cause) {
		fputc('\n', t->out);
		return err;
	}

	if (!explain_is_unexplained(cause) &&
	    (cause->is_queue || slice_is_wait(cause->kind) || cause->ended == CRITICAL_READY)) {
		words_value(gain, sizeof(gain), "ns", cause->duration);
		fprintf(t->out, "Without %s it would take at most %s (%.0f %%) less. ",
			is_inner ? "that" : "the first of these", gain,
			words_percent(cause->duration, whole));
	}
	if (*advice.more_threads == 'u')
		fprintf(t->out, "Whether more threads would help is not known: %s.\n", advice.why);
	else
		fprintf(t->out, "More threads would%s help: %s.\n",
			*advice.more_threads == 'n' ? " not" : "", advice.why);
	return err;
}

/* Of a thread that had other requests at the same time, as an event loop has. */
static int put_at_once(const struct printer *t)
{
	const struct film *film = t->e->film;
	struct explain_at_once others = explain_others(t->e, t->x);
	struct buf words = {0};
	char longest[32];
	const char *name;
	int err;

	if (!others.count)
		return 0;
	name = film->functions[film->frames[others.endpoint].function].name;
	words_value(longest, sizeof(longest), "ns", others.longest);
	buf_printf(&words,
		   "%s had %llu other request%s at the same time, longest %s, for %s: some "
		   "of this may be work for %s.",
		   t->x->request->row.role == FILM_REQUEST_MADE ? "The thread that served it"
								: "Its thread",
		   (unsigned long long)others.count, others.count == 1 ? "" : "s",
		   *name ? name : NAME_UNKNOWN, longest, others.count == 1 ? "it" : "them");
	err = put_words(t->out, &words);
	fputc('\n', t->out);
	buf_free(&words);
	return err;
}

/* Of a proxy that kept it back, say: what it asked was not slow. */
static int put_asked_late(const struct printer *t)
{
	uint64_t after;
	const struct explain_made *made = explain_asked_late(t->e, t->x, &after);
	struct buf words = {0};
	char time[32];
	int err;

	if (!made)
		return 0;
	words_value(time, sizeof(time), "ns", after);
	buf_printf(
		&words,
		"It asked for what it needed of others, first %s of %s, only after %s: a queue "
		"in this program, its own work, or a wait that is not a request, such as one for a "
		"name server, came before.",
		made->endpoint, made->peer, time);
	err = put_words(t->out, &words);
	fputc('\n', t->out);
	buf_free(&words);
	return err;
}

/* Of a thread that runs tasks in turn, which the film does not tell apart. */
static void put_unlinked(const struct printer *t)
{
	uint32_t process = t->e->film->threads[t->x->thread].process;

	for (unsigned int kind = 0; kind < FILM_TASK_KINDS; kind++) {
		const char *lanes = film_task_kind_event(kind);

		if (!(t->e->unlinked.of_process[process] >> kind & 1))
			continue;
		fprintf(t->out,
			"Not linked: its process runs %s, which share threads: some of this may be "
			"of others",
			film_task_kind_text(kind));
		if (lanes && !film_find_event(t->e->film, lanes))
			fprintf(t->out, "; 'record -e threads,%s' tells them apart", lanes);
		fputs(".\n", t->out);
	}
	if (t->x->no_lane)
		fprintf(t->out,
			"Not linked: which %s served it is not known: its thread may have "
			"worked for others.\n",
			explain_lanes_noun(t->e));
}

/* The threads that waited for disks meanwhile: that they keep this one busy is a guess. */
static int put_disk_users(const struct printer *t)
{
	struct explain_disk_users users;
	struct buf words = {0}, object = {0};
	char time[32];
	int err;

	explain_disk_users(t->e, t->x, &users);
	if (!users.count)
		return 0;
	buf_printf(&words, "While it waited for %s%s, others did, too, and may have kept it busy: ",
		   *users.disk ? "disk " : "a disk", users.disk);
	for (unsigned int i = 0; i < users.count; i++) {
		const struct explain_disk_user *user = &users.all[i];

		words_value(time, sizeof(time), "ns", user->ns);
		buf_put_text(&words, i ? "; " : "");
		explain_thread_words(t->e, user->thread, t->x->thread, &words);
		buf_printf(&words, " for %s", time);
		explain_disk_user_words(t->e, user, &object);
		if (object.count) {
			buf_put_u8(&object, 0);
			buf_printf(&words, " in %s", object.failed ? "" : (const char *)object.at);
		}
		buf_free(&object);
		object = (struct buf){0};
	}
	buf_put_u8(&words, '.');
	err = put_words(t->out, &words);
	fputc('\n', t->out);
	buf_free(&words);
	return err;
}

/* Of the endpoint of a request, with the last one explained for it. */
static int put_difference(const struct printer *t)
{
	struct explain_difference d;
	char slow[32], usual[32], more[32];
	struct buf words = {0};
	int err;

	if (!t->x->is_compared)
		return 0;
	err = explain_compare(t->e, t->x->request, &d);
	if (err || d.ns <= 0)
		return err;
	words_value(slow, sizeof(slow), "ns", d.slow);
	words_value(usual, sizeof(usual), "ns", d.usual);
	words_value(more, sizeof(more), "ns", (uint64_t)d.ns);
	buf_printf(&words,
		   "The slowest hundredth of its %llu requests took %s on average, usual ones %s; "
		   "most of the difference, %s, is ",
		   (unsigned long long)d.requests, slow, usual, more);
	buf_put_text(&words, explain_kind_words(d.words));
	if (d.process)
		buf_printf(&words, " in %s", t->e->film->processes[d.process].comm);
	buf_put_u8(&words, '.');
	err = put_words(t->out, &words);
	fputc('\n', t->out);
	buf_free(&words);
	return err;
}

/* What its threads logged meanwhile. */
struct logs_printer {
	const struct film *film;
	FILE *out;
	size_t shown;
};

static void put_log(void *context, const struct log_line *line)
{
	struct logs_printer *t = context;

	if (!t->shown)
		fputs("Meanwhile its threads logged:\n", t->out);
	if (++t->shown > LOGS_SHOWN)
		return;
	fputs("  ", t->out);
	put_log_line(t->film, line, t->out);
}

static void put_logs(const struct printer *t)
{
	struct logs_printer logs = {t->e->film, t->out, 0};
	size_t count = explain_each_log(t->e, t->x, put_log, &logs);

	if (count > LOGS_SHOWN)
		fprintf(t->out, "  and %zu more lines: 'stackcam report --format logs' has them\n",
			count - LOGS_SHOWN);
}

/* How the process ended, if a thread asked for that: with which status, and which thread. */
static int put_exit(const struct printer *t)
{
	struct buf words = {0};
	uint32_t status, thread = explain_exit_of(t->e, t->x->thread, &status);
	int err;

	if (!thread)
		return 0;
	buf_printf(&words, "Its process ended with exit status %u: ", status);
	explain_thread_words(t->e, thread, t->x->thread, &words);
	buf_put_text(&words, " asked for that.");
	err = put_words(t->out, &words);
	fputc('\n', t->out);
	buf_free(&words);
	return err;
}

/* " (waiting in read for pipe 812, and what ended it is not known)" */
static int put_longest(const struct printer *t, const struct explain_part *longest)
{
	static const char said[] = "not explained: ";
	struct buf words = {0};
	const char *at;

	explain_part_words(t->e, longest, &words);
	buf_put_u8(&words, 0);
	if (!words.failed) {
		at = (const char *)words.at;
		at += strncmp(at, said, strlen(said)) ? 0 : strlen(said);
		fputs(" (", t->out);
		text_print_safe(t->out, at);
		fputc(')', t->out);
	}
	buf_free(&words);
	return words.failed ? -ENOMEM : 0;
}

/*
 * What is not explained, once: of the thread itself, so that the column adds up, and the longest of
 * it in words; what is within other parts stands there.
 */
static int put_unexplained(const struct printer *t)
{
	const struct explain_part *longest = NULL;
	uint64_t own = 0, all = explain_unexplained(t->x);
	char words[32];
	int err = 0;

	vec_foreach (&t->x->parts, part) {
		if (part->parent || !explain_is_unexplained(part))
			continue;
		own += part->duration;
		longest = longest && longest->duration >= part->duration ? longest : part;
	}
	put_time(t->out, 0, own);
	fputs("unexplained", t->out);
	if (longest)
		err = put_longest(t, longest);
	fputc('\n', t->out);
	if (all > own) {
		words_value(words, sizeof(words), "ns", all - own);
		fprintf(t->out, "Within the other parts, %s %s not explained.\n", words,
			own ? "more is" : "is");
	}
	return err;
}

int show_explain_parts(struct explainer *e, const struct explanation *x, unsigned int depth,
		       FILE *out)
{
	struct printer t = {e, x, out, (x->to - x->from) / 200};

	return put_parts(&t, x->first, depth);
}

int show_explanation(struct explainer *e, const struct explanation *x, FILE *out)
{
	struct printer t = {e, x, out, (x->to - x->from) / 200};
	char words[32];
	char id[REQUEST_NAME_MAX];
	struct buf name = {0};
	int err;

	words_value(words, sizeof(words), "ns", x->to - x->from);
	if (x->request) {
		request_name(x->request, id);
		buf_printf(&name,
			   x->request->row.flags & FILM_REQUEST_OPEN
				   ? "%s had taken %s and was not over, in "
				   : "%s took %s in ",
			   *x->request->path ? x->request->path : x->request->endpoint, words);
		explain_thread_words(e, x->thread, 0, &name);
		/* of a statement the endpoint is all that is known */
		if (*x->request->path)
			buf_printf(&name, ", endpoint %s", x->request->endpoint);
		buf_printf(&name, ", id %s", id);
	} else {
		explain_thread_words(e, x->thread, 0, &name);
		buf_printf(&name, ", %s", words);
	}
	fputc('\n', out);
	err = put_words(out, &name);
	fputs(":\n", out);
	buf_free(&name);
	if (!err)
		err = put_parts(&t, x->first, 0);
	if (!err)
		err = put_unexplained(&t);
	if (x->too_deep)
		fprintf(out,
			"%llu waits were not followed: more than %d threads waited for each "
			"other\n",
			(unsigned long long)x->too_deep, CRITICAL_DEPTH_MAX);
	if (!err && x->first)
		err = put_advice(&t);
	if (!err && !x->request)
		err = put_exit(&t);
	if (!err)
		err = put_disk_users(&t);
	if (!err)
		err = put_at_once(&t);
	if (!err)
		err = put_asked_late(&t);
	if (!err)
		put_unlinked(&t);
	if (!err)
		err = put_difference(&t);
	if (!err)
		put_logs(&t);
	return err;
}

static void put_column(FILE *out, uint64_t ns, uint64_t life)
{
	fprintf(out, " %6.1f%%", words_percent(ns, life));
}

static uint64_t idle_of(const struct explain_group *group)
{
	uint64_t sum = 0;

	for (unsigned int class = 0; class < WAIT_CLASSES; class ++)
		if (wait_class_is_idle((enum wait_class) class))
			sum += group->ns[SLICE_WAIT + class];
	return sum;
}

static void put_group(const struct explainer *e, const struct explain_group *group, FILE *out)
{
	uint64_t ready = group->ns[SLICE_WOKEN] + group->ns[SLICE_PREEMPTED];
	uint64_t lock = group->ns[SLICE_WAIT + WAIT_LOCK] - group->conditions;
	uint64_t disk = group->ns[SLICE_WAIT + WAIT_DISK] + group->ns[SLICE_WAIT + WAIT_FAULT] +
			group->ns[SLICE_WAIT + WAIT_FILE];
	uint64_t sleep = group->ns[SLICE_WAIT + WAIT_SLEEP], idle = idle_of(group);
	uint64_t known = group->ns[SLICE_ON_CPU] + ready + lock + disk + sleep + idle +
			 group->conditions + group->ns[SLICE_HOLE];
	char name[256], safe[256];

	explain_group_name(e->film, group, name, sizeof(name));
	text_make_safe(safe, sizeof(safe), name);
	fprintf(out, "%-20.20s", safe);
	text_make_safe(safe, sizeof(safe), e->film->processes[group->process].comm);
	fprintf(out, " %-16.16s %7llu", safe, (unsigned long long)group->threads);
	put_column(out, group->ns[SLICE_ON_CPU], group->life);
	put_column(out, ready, group->life);
	put_column(out, lock, group->life);
	put_column(out, group->conditions, group->life);
	put_column(out, disk, group->life);
	put_column(out, sleep, group->life);
	put_column(out, idle, group->life);
	put_column(out, group->life - known, group->life);
	put_column(out, group->ns[SLICE_HOLE], group->life);
	fputc('\n', out);
}

void show_explain_groups(const struct explainer *e, const struct explain_groups *groups,
			 size_t limit, FILE *out)
{
	static const char *const titles[] = {"CPU",   "Ready", "Lock",	"Cond.", "Disk",
					     "Sleep", "Idle",  "Other", "Lost"};

	fprintf(out, "%-20s %-16s %7s", "Threads", "Process", "Count");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		fprintf(out, " %7s", titles[i]);
	fputc('\n', out);
	for (size_t i = 0; i < groups->all.count && i < limit; i++)
		put_group(e, &groups->all.at[i], out);
	if (groups->all.count > limit)
		fprintf(out, "and %zu more\n", groups->all.count - limit);
}
