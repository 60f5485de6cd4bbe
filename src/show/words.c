// SPDX-License-Identifier: Apache-2.0
#include "show/words.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "film/events.h"
#include "query/unlinked.h"

void words_value(char *to, size_t size, const char *unit, uint64_t value)
{
	switch (event_quantity(unit)) {
	case EVENT_TIME:
		text_duration(to, size, value);
		break;
	case EVENT_BYTES:
		text_bytes(to, size, value);
		break;
	case EVENT_COUNT:
		text_count(to, size, value);
		break;
	}
}

double words_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

size_t words_width(const char *s)
{
	size_t width = 0;

	for (; *s; s++)
		width += ((unsigned char)*s & 0xc0) != 0x80;
	return width;
}

void words_column(FILE *out, const char *s, size_t columns)
{
	size_t width = words_width(s), taken = 0;

	if (width <= columns) {
		fputs(s, out);
		fprintf(out, "%*s", (int)(columns - width), "");
		return;
	}
	for (; *s; s++) {
		taken += ((unsigned char)*s & 0xc0) != 0x80;
		if (taken >= columns)
			break;
		fputc(*s, out);
	}
	fputs("…", out);
}

size_t words_rows(size_t count, uint64_t limit)
{
	return limit && limit < count ? limit : count;
}

void words_rest(size_t rows, uint64_t self, uint64_t total, FILE *out)
{
	char count[32];

	if (!rows)
		return;
	text_count(count, sizeof(count), rows);
	fprintf(out, "… %s more with %.2f%% of self; --limit 0 shows all\n", count,
		words_percent(self, total));
}

static void print_reasons(FILE *out, const struct view_reasons *reasons, const char *between)
{
	char count[32];

	vec_foreach (reasons, reason) {
		fputs(reason == reasons->at ? "" : between, out);
		text_print_safe(out, reason->words);
		text_count(count, sizeof(count), reason->count);
		fprintf(out, " %s", count);
	}
}

static void print_stacks(const struct view *view, FILE *out)
{
	char count[32];

	text_count(count, sizeof(count), view->stacks.complete);
	fprintf(out, view->calls ? "callers: %s known (%.1f%%)" : "stacks: %s complete (%.1f%%)",
		count, words_percent(view->stacks.complete, view->samples));
	if (view->stacks.truncated) {
		text_count(count, sizeof(count), view->stacks.truncated);
		fprintf(out, view->calls ? ", %s not (" : ", %s truncated (", count);
		print_reasons(out, &view->stacks.reasons, ", ");
		fputc(')', out);
	}
	if (view->stacks.guessed) {
		text_count(count, sizeof(count), view->stacks.guessed);
		fprintf(out,
			view->calls ? ", %s where a return was not seen"
				    : ", %s with a guessed frame",
			count);
	}
	if (view->stacks.gaps) {
		text_count(count, sizeof(count), view->stacks.gaps);
		fprintf(out, ", %s with native frames missing in between", count);
	}
	fputc('\n', out);
}

const char *words_guess(const struct flame *flame)
{
	return event_find(flame->event, flame->unit)->shape == SHAPE_CALLS
		       ? "its return was not seen (guess)"
		       : "found by frame pointer (guess)";
}

/* What a view counts. */
static const char *counted(const struct view *view)
{
	return event_of(view->event)->noun;
}

/* Tasks that share the threads of requests. */
static void put_unlinked(const struct view *view, FILE *out)
{
	for (unsigned int kind = 0; kind < FILM_TASK_KINDS; kind++) {
		const char *lanes = film_task_kind_event(kind);

		if (!(view->unlinked >> kind & 1))
			continue;
		fprintf(out,
			"not linked: which of the %s a thread ran is not known: some of this may "
			"be others'",
			film_task_kind_text(kind));
		if (lanes && !film_find_event(view->film, lanes))
			fprintf(out, "; 'record -e requests,on-cpu,%s' records it", lanes);
		fputc('\n', out);
	}
}

/* Of a level that is less now than it was. */
static void print_peak(const struct view *view, FILE *out)
{
	uint64_t start = view->film->info.start, at = view->peak.time;
	char value[32];

	if (view->peak.value <= view->total || at < start)
		return;
	words_value(value, sizeof(value), view->event->unit, view->peak.value);
	/* the state of a moment is before the next millisecond */
	fprintf(out, "peak:   %s; --to %" PRIu64 "ms shows it\n", value,
		(at - start) / 1000000 + 1);
}

void words_heading(const struct view *view, FILE *out)
{
	char title[256], value[32], count[32];

	view_title(view, title, sizeof(title));
	text_print_safe(out, title);
	words_value(value, sizeof(value), view->event->unit, view->total);
	text_count(count, sizeof(count), view->samples);
	fprintf(out, "\ntotal:  %s in %s %s", value, count, counted(view));
	if (*view->event->source) {
		fputs(" (", out);
		text_print_safe(out, view->event->source);
		if (view->event->frequency)
			fprintf(out, ", %" PRIu32 " Hz", view->event->frequency);
		fputc(')', out);
	}
	fputc('\n', out);
	print_peak(view, out);
	if (!view->calls || !view->calls->is_summary)
		print_stacks(view, out);
	if (view->others)
		fprintf(out,
			"shared: %" PRIu64 " other request%s open on the same threads meanwhile: "
			"some of this may be theirs\n",
			view->others, view->others == 1 ? " was" : "s were");
	put_unlinked(view, out);
	if (view->unplaced) {
		words_value(value, sizeof(value), view->event->unit, view->unplaced);
		fprintf(out, "not known: %s of waits that were summed up, for whichever request\n",
			value);
	}
	fputs(view->is_filtered ? "lost (whole film): " : "lost:   ", out);
	if (view->losses.count)
		print_reasons(out, &view->losses, "\n        ");
	else
		fputs("nothing", out);
	fputc('\n', out);
}

/* After exec(), one process may stand in a film more than once. */
static bool is_repeated(const struct film *film, uint32_t id)
{
	const struct film_process *process = &film->processes[id];

	return id > 1 && process->pid == process[-1].pid &&
	       !strcmp(process->comm, process[-1].comm);
}

static void print_some_processes(const struct film *film, FILE *out)
{
	unsigned int left = 6;

	fputs("; its processes are ", out);
	for (uint32_t i = 1; i < film->process_count; i++) {
		const struct film_process *process = &film->processes[i];

		if (is_repeated(film, i))
			continue;
		fputs(i > 1 ? ", " : "", out);
		if (!left--) {
			fputs("…", out);
			break;
		}
		text_print_safe(out, *process->comm ? process->comm : NAME_UNKNOWN);
		fprintf(out, " (%" PRIu32 ")", process->pid);
	}
}

static void print_film_span(const struct film *film, FILE *out)
{
	char from[64], to[64];

	film_wall_time(film, film->info.start, from, sizeof(from));
	film_wall_time(film, film->info.end, to, sizeof(to));
	fprintf(out, "; it was filmed from %s to %s", from, to);
}

static void print_no_match(const struct view *view, const struct filter *filter, const char *path,
			   FILE *out)
{
	struct buf asked = {0};
	char count[32];

	filter_describe(filter, &asked);
	buf_put_u8(&asked, 0);
	text_count(count, sizeof(count), view->film_samples);
	fprintf(out, "stackcam: of the %s %s in ", count, counted(view));
	text_print_safe(out, path);
	fputs(" nothing matches ", out);
	text_print_safe(out, asked.failed ? "the filters" : (const char *)asked.at);
	buf_free(&asked);
	if (filter->from.kind != WHEN_OPEN || filter->to.kind != WHEN_OPEN)
		print_film_span(view->film, out);
	if (filter->pids.count || filter->tids.count || filter->comms.count)
		print_some_processes(view->film, out);
	fputc('\n', out);
}

/* Of a level, all samples of its last state are asked for, and there are none. */
static bool is_nothing_at_the_end(const struct view *view, const struct filter *filter)
{
	struct buf asked = {0};
	bool is_all;

	filter_describe(filter, &asked);
	is_all = !asked.failed && !asked.count;
	buf_free(&asked);
	return is_all && event_of(view->event)->is_level;
}

static void print_nothing(const char *path, FILE *out)
{
	fputs("stackcam: at the end of ", out);
	text_print_safe(out, path);
	fputs(", nothing is in use\n", out);
}

/* Why a film has none of an event, as far as that is known; followed by "in the 2 s of …". */
static const char *why_empty(const struct event_type *type)
{
	if (type->is_of_all_that_runs)
		return "what was to be filmed ran too short a time for a sample to hit it, or not "
		       "at all,";
	if (type->quantity == EVENT_BYTES)
		return "there was nothing to film, or too little for a sample,";
	return "stackcam saw none";
}

static void print_empty(const struct view *view, const char *path, FILE *out)
{
	const struct film_info *info = &view->film->info;
	char length[32];

	text_duration(length, sizeof(length),
		      info->end > info->start ? info->end - info->start : 0);
	fprintf(out, "stackcam: there are no %s in ", counted(view));
	text_print_safe(out, path);
	fprintf(out, ": %s in the %s of '", why_empty(event_of(view->event)), length);
	text_print_safe(out, info->command);
	fprintf(out, "'%s\n", view->losses.count ? ", or it was lost" : "");
}

void words_nothing(const struct view *view, const struct filter *filter, const char *path,
		   FILE *out)
{
	if (view->film_samples && !view->samples && is_nothing_at_the_end(view, filter))
		print_nothing(path, out);
	else if (view->film_samples && !view->samples)
		print_no_match(view, filter, path, out);
	else if (!view->film_samples)
		print_empty(view, path, out);
}

void words_other_events(const struct view *view, FILE *out)
{
	struct film *film = view->film;
	const char *before = "stackcam: the film also has ";
	uint64_t samples, total;

	for (uint32_t i = 1; i < film->event_count; i++) {
		const struct film_event *event = &film->events[i];

		film_event_total(film, i, &samples, &total);
		/* call stacks belong to the calls beside them */
		if (event == view->event || !samples ||
		    event_of(event) == event_type(EVENT_CALL_STACKS))
			continue;
		fputs(before, out);
		text_print_safe(out, event->name);
		before = ", ";
	}
	if (*before == ',')
		fputs("; -e chooses\n", out);
}

void words_cut_off(const struct film *film, const char *path, FILE *out)
{
	const struct film_info *info = &film->info;
	char seconds[32], time[64];

	if (!film->is_cut_off)
		return;
	words_value(seconds, sizeof(seconds), "ns", info->end - info->start);
	film_rfc3339(info, info->end, time, sizeof(time));
	fputs("stackcam: the recording ", out);
	if (path) {
		fputs("of ", out);
		text_print_safe(out, path);
		fputc(' ', out);
	}
	fprintf(out,
		"did not end properly, such as by kill -9 or without power: "
		"the film reaches to %s, %s after its start; "
		"'stackcam resolve' names what has no name yet\n",
		time, seconds);
}

void words_lost(const struct film *film, uint32_t event, uint32_t also, FILE *out)
{
	char count[32];

	for (size_t i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if (!loss->count || (loss->event && event != WORDS_ANY_EVENT &&
				     loss->event != event && (!also || loss->event != also)))
			continue;
		text_count(count, sizeof(count), loss->count);
		fputs("stackcam: lost: ", out);
		text_print_safe(out, loss->reason);
		fprintf(out, ": %s\n", count);
	}
}
