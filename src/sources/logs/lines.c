// SPDX-License-Identifier: Apache-2.0
#include "sources/logs/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "sources/logs/text.h"

/* Lines that are open at the same time: the oldest is given, as it is, when there are more. */
#define OPEN_MAX 1024

/* A line that has begun. */
struct open_line {
	uint64_t key; /* of thread and file; 0: the place is free */
	struct buf text;
	uint64_t size; /* all of its bytes */
	struct logs_line line;
};

struct logs_lines {
	struct logs_lines_to to;
	vec(struct open_line) all;
	struct map known; /* of a key: the place */
	struct logs_lines_counts counts;
};

struct logs_lines *logs_lines_new(const struct logs_lines_to *to)
{
	struct logs_lines *lines = calloc(1, sizeof(*lines));

	if (lines)
		lines->to = *to;
	return lines;
}

void logs_lines_free(struct logs_lines *lines)
{
	if (!lines)
		return;
	vec_foreach (&lines->all, open)
		buf_free(&open->text);
	vec_free(&lines->all);
	map_free(&lines->known);
	free(lines);
}

/* -- lines ------------------------------------------------------------------------------------- */

static void set_text(struct logs_line *line, const struct logs_text *text)
{
	line->text = text->at;
	line->bytes = text->size;
	line->level = text->level;
}

/* Emits a line, and forgets it. */
static void emit_line(struct logs_lines *lines, struct open_line *open, uint8_t flags)
{
	struct logs_line *line = &open->line;
	const char *at = (const char *)open->text.at;
	struct logs_text text = {.at = at, .size = open->text.count};

	line->flags |= flags;
	line->size = open->size;
	if (open->size > open->text.count)
		line->flags |= FILM_LOG_CUT;
	if (line->kind == FILM_LOG_JOURNAL)
		text = logs_text_journal(at, open->text.count);
	else if (line->kind != FILM_LOG_FILE)
		text = logs_text_syslog(at, open->text.count);
	/* of a message to the journal, the line is a field */
	if (line->kind == FILM_LOG_JOURNAL && !(line->flags & FILM_LOG_CUT))
		line->size = text.size;
	while (text.size && (text.at[text.size - 1] == '\r' || text.at[text.size - 1] == '\n'))
		text.size--;
	set_text(line, &text);
	/* an empty line says nothing */
	if (text.size && !open->text.failed)
		lines->to.emit(lines->to.context, line);
	lines->counts.refused += open->text.failed;
	map_remove(&lines->known, open->key);
	open->key = 0;
	open->size = 0;
	open->text.count = 0;
	open->text.failed = false;
}

/* A free place; the oldest line is given for it where there is none. Null: no memory. */
static struct open_line *place(struct logs_lines *lines)
{
	struct open_line *oldest = NULL;

	vec_foreach (&lines->all, open) {
		if (!open->key)
			return open;
		if (!oldest || open->line.time < oldest->line.time)
			oldest = open;
	}
	if (lines->all.count < OPEN_MAX)
		return vec_push(&lines->all, (struct open_line){0}) ? vec_last(&lines->all) : NULL;
	emit_line(lines, oldest, FILM_LOG_UNFINISHED);
	return oldest;
}

static struct open_line *open_of(struct logs_lines *lines, const struct logs_record *record)
{
	uint64_t key = hash_u64(record->file ^
				hash_u64((uint64_t)record->identity.tid << 8 | record->kind)) |
		       1;
	const uint64_t *known = map_get(&lines->known, key);
	struct open_line *open;

	if (known)
		return &lines->all.at[*known];
	open = place(lines);
	if (!open || !map_put(&lines->known, key, (uint64_t)(open - lines->all.at)))
		return NULL;
	open->key = key;
	open->line = (struct logs_line){.kind = record->kind};
	return open;
}

/* Appends bytes to a line, as many as a film keeps. */
static void append(struct logs_lines *lines, struct open_line *open, const char *at, size_t size)
{
	size_t room = FILM_LOG_MAX - open->text.count;

	open->size += size;
	if (size > room) {
		lines->counts.cut += size - room;
		size = room;
	}
	if (size)
		buf_put(&open->text, at, size);
}

static void note(struct open_line *open, const struct logs_record *record)
{
	open->line.time = record->head.time;
	open->line.identity = record->identity;
	open->line.object = record->object;
}

/* What a call wrote, from one newline to the next. */
static void add_text(struct logs_lines *lines, const struct logs_record *record, const char *at,
		     size_t size)
{
	while (size) {
		const char *end = record->is_whole ? NULL : memchr(at, '\n', size);
		size_t part = end ? (size_t)(end - at) : size;
		struct open_line *open = open_of(lines, record);

		if (!open) {
			lines->counts.refused++;
			return;
		}
		note(open, record);
		append(lines, open, at, part);
		if (end)
			emit_line(lines, open, 0);
		at += part + (end != NULL);
		size -= part + (end != NULL);
	}
}

void logs_lines_add(struct logs_lines *lines, const struct logs_record *record)
{
	const char *at = (const char *)(record + 1);
	uint64_t missing = (uint64_t)record->length - record->offset - record->copied;
	struct open_line *open;

	if (record->kind != FILM_LOG_JOURNAL && logs_text_is_data(at, record->copied)) {
		lines->counts.data += !record->offset;
		return;
	}
	add_text(lines, record, at, record->copied);
	if (!record->is_last)
		return;
	lines->counts.unread += missing;
	if (!missing && !record->is_whole)
		return;
	/* what follows is not here: whether the line goes on is not known */
	open = open_of(lines, record);
	if (!open)
		return;
	note(open, record);
	open->size += missing;
	emit_line(lines, open, missing ? FILM_LOG_UNFINISHED : 0);
}

void logs_lines_flush(struct logs_lines *lines, uint64_t since)
{
	vec_foreach (&lines->all, open)
		if (open->key && open->line.time <= since)
			emit_line(lines, open, FILM_LOG_UNFINISHED);
}

struct logs_lines_counts logs_lines_counts(const struct logs_lines *lines)
{
	return lines->counts;
}
