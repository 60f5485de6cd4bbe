// SPDX-License-Identifier: Apache-2.0
#include "show/summary.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "film/events.h"
#include "query/report.h"
#include "show/words.h"

enum {
	SUBJECT_BYTES = 400, /* of a name or a stack in a line */
	REASONS_SHOWN = 3,
};

/* Cut where it is long: a name of C++ may have thousands of characters. */
static void put_name(const char *name, FILE *out)
{
	char safe[SUBJECT_BYTES];
	size_t length = text_make_safe(safe, sizeof(safe), name);

	fputs(safe, out);
	if (length >= sizeof(safe))
		fputs("…", out);
}

static void put_head(const struct summary *s, FILE *out)
{
	const struct film_info *info = &s->film->info;
	char length[32], time[64];

	text_duration(length, sizeof(length), s->to > s->from ? s->to - s->from : 0);
	film_wall_time(s->film, s->from, time, sizeof(time));
	put_name(info->hostname, out);
	fprintf(out, ", %s, %s, %u CPU%s, Linux ", time, length, info->cpus,
		text_plural(info->cpus));
	put_name(info->kernel, out);
	fputc(' ', out);
	put_name(info->arch, out);
	fputs("\nrecorded by: ", out);
	put_name(info->command, out);
	fprintf(out, "\nin the film: %u process%s, %u thread%s\n", s->process_count,
		s->process_count == 1 ? "" : "es", s->thread_count, text_plural(s->thread_count));
}

static void put_losses(const struct view_reasons *losses, FILE *out)
{
	char count[32];
	size_t shown = 0;

	if (!losses->count)
		fputs("nothing", out);
	vec_foreach (losses, reason) {
		if (shown == REASONS_SHOWN)
			break;
		text_count(count, sizeof(count), reason->count);
		fputs(shown++ ? ", " : "", out);
		put_name(reason->words, out);
		fprintf(out, " %s", count);
	}
	if (losses->count > shown)
		fprintf(out, " and %zu more reasons", losses->count - shown);
}

static void put_event(const struct summary *s, const struct summary_event *row, FILE *out)
{
	const struct film_event *event = &s->film->events[row->event];
	const struct event_type *type = event_of(event);
	double seconds = (double)(s->to - s->from) / 1e9;
	char words[32], count[32], rate[64], name[64];

	text_make_safe(name, sizeof(name), event->name);
	text_count(words, sizeof(words), row->samples);
	/* of values and of lines, the film does not say how many there are */
	fprintf(out, "%-14s %12s", name, row->samples || row->has_total ? words : "-");
	snprintf(words, sizeof(words), "-");
	snprintf(rate, sizeof(rate), "-");
	if (row->has_total)
		words_value(words, sizeof(words), event->unit, row->total);
	if (row->has_total && !type->is_level && type->quantity == EVENT_TIME && seconds > 0)
		snprintf(rate, sizeof(rate), "%.2f %.40s", (double)row->total / 1e9 / seconds,
			 type->rate);
	if (row->peak) {
		text_duration(count, sizeof(count), row->peak - s->film->info.start);
		snprintf(rate, sizeof(rate), "the most, at %s", count);
	}
	fprintf(out, " %12s  %-24s", words, rate);
	if (row->has_stacks)
		fprintf(out, " %8.1f%%  ", words_percent(row->complete, row->samples));
	else
		fprintf(out, " %9s  ", "-");
	put_losses(&row->losses, out);
	fputc('\n', out);
}

static void put_film_losses(const struct summary *s, FILE *out)
{
	if (!s->losses.count)
		return;
	fputs("lost, of the whole film: ", out);
	put_losses(&s->losses, out);
	fputc('\n', out);
}

static void put_events(const struct summary *s, FILE *out)
{
	fprintf(out, "\n%-14s %12s %12s  %-24s %9s  %s\n", "Event", "Samples", "Total",
		"Per second", "Whole", "Lost");
	vec_foreach (&s->events, row)
		put_event(s, row, out);
	put_film_losses(s, out);
}

void show_summary_processes(const struct summary *s, size_t most, FILE *out)
{
	const struct film_event *event = &s->film->events[s->measure];
	size_t others = s->processes_of_all - s->processes.count;
	uint64_t rest = s->measured;
	char words[32];
	size_t shown = 0;

	if (!s->processes.count)
		return;
	fprintf(out, "\n%13s %7s  Process, by ", "Total", "Total%");
	put_name(event->name, out);
	fputc('\n', out);
	vec_foreach (&s->processes, row) {
		const struct film_process *process = &s->film->processes[row->process];

		if (shown++ == most)
			break;
		words_value(words, sizeof(words), event->unit, row->total);
		fprintf(out, "%13s %6.2f%%  ", words, words_percent(row->total, s->measured));
		put_name(process->comm, out);
		fprintf(out, " (%u)\n", process->pid);
		rest -= row->total < rest ? row->total : rest;
	}
	if (!rest)
		return;
	words_value(words, sizeof(words), event->unit, rest);
	fprintf(out, "%13s %6.2f%%  ", words, words_percent(rest, s->measured));
	if (others)
		fprintf(out, "%zu more\n", others);
	else
		fputs("not known\n", out);
}

static void put_counts(const struct summary_finding *f, const char *unit, FILE *out)
{
	char words[32];

	if (f->count) {
		text_count(words, sizeof(words), f->count);
		fprintf(out, ", %s time%s", words, text_plural(f->count));
	}
	if (f->failed) {
		text_count(words, sizeof(words), f->failed);
		fprintf(out, ", %s failed", words);
	}
	if (f->median) {
		text_quantile(words, sizeof(words), f->median, f->longest);
		fprintf(out, ", p50 %s", words);
	}
	if (f->p99) {
		text_quantile(words, sizeof(words), f->p99, f->longest);
		fprintf(out, ", p99 %s", words);
	}
	if (f->longest) {
		words_value(words, sizeof(words), unit, f->longest);
		fprintf(out, ", longest %s", words);
	}
}

/* What requests took is time; their event counts them. */
static const char *unit_of(const struct summary *s, const struct summary_finding *f)
{
	return f->kind == SUMMARY_ENDPOINT || f->kind == SUMMARY_REQUEST
		       ? "ns"
		       : s->film->events[f->event].unit;
}

static void put_value(const struct summary *s, const struct summary_finding *f, FILE *out)
{
	char words[32];

	words_value(words, sizeof(words), unit_of(s, f), f->value);
	fprintf(out, "  %12s ", words);
	if (f->whole)
		fprintf(out, "%6.2f%%  ", words_percent(f->value, f->whole));
	else
		fprintf(out, "%7s  ", "");
}

static void put_subject(const struct summary *s, const struct summary_finding *f,
			const char *detail, FILE *out)
{
	put_name(f->subject, out);
	if (*detail) {
		fputs(" (", out);
		put_name(detail, out);
		fputc(')', out);
	}
	put_counts(f, unit_of(s, f), out);
	if (*f->id) {
		fputs(", id ", out);
		put_name(f->id, out);
	}
	fputc('\n', out);
}

static void put_finding(const struct summary *s, const struct summary_finding *f, FILE *out)
{
	put_value(s, f, out);
	fprintf(out, "%s: ", summary_words(f->kind)->title);
	put_subject(s, f, f->detail, out);
}

/* An image without its folders. */
static const char *short_detail(const struct summary_finding *f)
{
	const char *slash = f->kind == SUMMARY_FUNCTION ? strrchr(f->detail, '/') : NULL;

	return slash && slash[1] ? slash + 1 : f->detail;
}

void show_summary_row(const struct summary *s, const struct summary_finding *f, FILE *out)
{
	put_value(s, f, out);
	put_subject(s, f, short_detail(f), out);
}

/* The line behind the last finding of a kind and an event. */
static void put_more(const struct summary *s, const struct summary_finding *f,
		     enum summary_reader reader, FILE *out)
{
	const struct summary_words *words = summary_words(f->kind);
	const char *look = reader == SUMMARY_FOR_AGENTS ? words->tool : words->look;
	const char *event = strstr(look, "%s");

	if (reader == SUMMARY_ALONE)
		return;
	fprintf(out, "  %20s  more: ", "");
	if (!event) {
		fprintf(out, "%s\n", look);
		return;
	}
	fprintf(out, "%.*s", (int)(event - look), look);
	put_name(s->film->events[f->event].name, out);
	fprintf(out, "%s\n", event + 2);
}

/* Where findings stand alone, no table of events says what was lost. */
static void put_title(const struct summary *s, uint32_t event, enum summary_reader reader,
		      FILE *out)
{
	put_name(s->film->events[event].name, out);
	vec_foreach (&s->events, row)
		if (reader == SUMMARY_ALONE && row->event == event) {
			fputs(", lost: ", out);
			put_losses(&row->losses, out);
		}
	fputc('\n', out);
}

void show_summary_findings(const struct summary *s, enum summary_reader reader, FILE *out)
{
	const struct summary_finding *before = NULL;

	vec_foreach (&s->findings, f) {
		if (before && (before->kind != f->kind || before->event != f->event))
			put_more(s, before, reader, out);
		if (!before || before->event != f->event)
			put_title(s, f->event, reader, out);
		put_finding(s, f, out);
		before = f;
	}
	if (before)
		put_more(s, before, reader, out);
	if (reader == SUMMARY_ALONE)
		put_film_losses(s, out);
}

void show_summary_text(const struct summary *summary, enum summary_reader reader, FILE *out)
{
	put_head(summary, out);
	put_events(summary, out);
	show_summary_processes(summary, SIZE_MAX, out);
	fputs(summary->findings.count ? "\nWhat stands out:\n" : "\nNothing stands out.\n", out);
	show_summary_findings(summary, reader, out);
}

int show_summary(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *samples, struct fail *why)
{
	struct summary summary;
	int err = summary_make(film, q, &(struct summary_wanted){0}, &summary, why);

	(void)options;
	*samples = 1; /* of a film that holds nothing, the page says so */
	if (!err)
		show_summary_text(&summary, SUMMARY_FOR_PEOPLE, out);
	summary_free(&summary);
	return err;
}
