// SPDX-License-Identifier: Apache-2.0
#include "query/log_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "film/events.h"
#include "film/logs.h"
#include "query/log_owners.h"

/* Parts of lines, as they come: those of one line may come in any order. */
struct part {
	uint64_t time, number;
	uint32_t thread, stream, size;
	uint16_t part;
	uint8_t bytes, kind, level, flags;
	char text[FILM_LOG_TEXT];
};

struct reading {
	struct log_lines *lines;
	vec(struct part) parts;
	uint64_t bytes, refused;
	int err;
};

uint32_t logs_event(const struct film *film)
{
	uint32_t event = film_find_event(film, event_type(EVENT_LOGS)->name);

	return event && film_has_logs(film, event) ? event : 0;
}

const char *log_matched_name(unsigned int matched)
{
	static const char *const names[] = {"writer", "thread-name", "request-id"};

	return names[matched < sizeof(names) / sizeof(names[0]) ? matched : 0];
}

struct log_shown log_shown_of(const struct film *film, const struct log_line *line)
{
	const struct film_thread *thread = &film->threads[line->thread];

	return (struct log_shown){
		.time = line->time + (uint64_t)film->info.wall_offset,
		.host = film->info.hostname,
		.comm = thread->comm,
		.stream = line->stream,
		.text = line->text,
		.bytes = line->bytes,
		.size = line->size,
		.pid = film->processes[thread->process].pid,
		.tid = thread->tid,
		.writer = film->threads[line->writer].tid,
		.matched = line->matched,
		.kind = line->kind,
		.level = line->level,
		.flags = line->flags,
	};
}

static int take_parts(void *context, const struct film_logs *logs)
{
	struct reading *r = context;

	for (size_t i = 0; i < logs->count; i++) {
		struct part part = {
			.time = logs->time[i],
			.number = logs->number[i],
			.thread = logs->thread[i],
			.stream = logs->stream[i],
			.size = logs->size[i],
			.part = (uint16_t)logs->part[i],
			.bytes = (uint8_t)logs->bytes[i],
			.kind = (uint8_t)logs->kind[i],
			.level = (uint8_t)logs->level[i],
			.flags = (uint8_t)logs->flags[i],
		};

		if (r->bytes >= LOG_BYTES_MAX) {
			r->refused += !part.part;
			continue;
		}
		r->bytes += sizeof(part);
		for (size_t k = 0; k < FILM_LOG_TEXT / 8; k++)
			memcpy(part.text + k * 8, &logs->text[k][i], 8);
		if (!vec_push(&r->parts, part))
			return r->err = -ENOMEM;
	}
	return 0;
}

static int in_order(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

static bool is_same_line(const struct part *a, const struct part *b)
{
	return a->time == b->time && a->thread == b->thread && a->number == b->number;
}

/* The line whose parts begin at one; returns how many they are. */
static size_t make_line(struct reading *r, size_t at)
{
	const struct part *first = &r->parts.at[at];
	const struct film *film = r->lines->film;
	char text[FILM_LOG_MAX];
	size_t bytes = 0, count = 0;
	struct log_line line = {
		.time = first->time,
		.number = first->number,
		.size = first->size,
		.writer = first->thread,
		.thread = first->thread,
		.stream = film->functions[film->frames[first->stream].function].name,
		.kind = first->kind,
		.level = first->level,
		.flags = first->flags,
	};

	for (; at + count < r->parts.count && is_same_line(first, first + count); count++) {
		const struct part *part = first + count;

		/* one is missing, or there twice: what follows does not join on */
		if (part->part != bytes / FILM_LOG_TEXT || bytes % FILM_LOG_TEXT ||
		    bytes + part->bytes > sizeof(text)) {
			line.flags |= FILM_LOG_CUT;
			continue;
		}
		memcpy(text + bytes, part->text, part->bytes);
		bytes += part->bytes;
	}
	line.bytes = bytes;
	line.text = arena_text(&r->lines->texts, text, bytes);
	if (r->lines->all.count >= LOG_LINES_MAX)
		r->refused++;
	else if (!line.text || !vec_push(&r->lines->all, line))
		r->err = -ENOMEM;
	return count;
}

static bool has_text(const struct log_line *line, const char *find)
{
	size_t length = find ? strlen(find) : 0;

	for (size_t i = 0; length && i + length <= line->bytes; i++)
		if (!strncasecmp(line->text + i, find, length))
			return true;
	return !length;
}

/* Leaves out what is not asked for. */
static void keep(struct log_lines *lines, const struct filter_kept *kept, const char *find)
{
	size_t count = 0;

	vec_foreach (&lines->all, line)
		if (kept->threads[line->thread] && has_text(line, find))
			lines->all.at[count++] = *line;
	lines->all.count = count;
}

int log_lines_read(struct log_lines *lines, struct film *film, const struct filter *filter,
		   uint64_t from, uint64_t to, const char *find, struct fail *why)
{
	struct reading r = {.lines = lines};
	struct filter_kept kept = {0};
	uint32_t event = logs_event(film);
	int err = 0;

	*lines = (struct log_lines){.film = film};
	if (!event)
		return 0;
	err = filter_apply(filter, film, &kept, why);
	if (!err)
		err = film_each_logs(film, event, from, to, take_parts, &r, why);
	if (!err && r.parts.count)
		qsort(r.parts.at, r.parts.count, sizeof(*r.parts.at), in_order);
	for (size_t at = 0; !err && !r.err && at < r.parts.count;)
		at += make_line(&r, at);
	vec_free(&r.parts);
	lines->left = r.refused;
	if (r.err)
		err = fail_errno(why, r.err, NULL, "cannot read lines of logs");
	if (!err)
		err = log_owners_find(lines, film, why);
	if (!err)
		keep(lines, &kept, find);
	filter_kept_free(&kept);
	return err;
}

void log_lines_free(struct log_lines *lines)
{
	vec_free(&lines->all);
	arena_free(&lines->texts);
}
