// SPDX-License-Identifier: Apache-2.0
#include "show/logs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "film/logs.h"
#include "query/reasons.h"
#include "show/json_film.h"

/* "14:32:08.123456", of the reader's time zone. */
static void put_time(const struct film *film, uint64_t time, FILE *out)
{
	uint64_t wall = time + (uint64_t)film->info.wall_offset;
	time_t seconds = (time_t)(wall / SECOND_NS);
	struct tm parts = {0};
	char words[32];

	localtime_r(&seconds, &parts);
	strftime(words, sizeof(words), "%H:%M:%S", &parts);
	fprintf(out, "%s.%06u ", words, (unsigned int)(wall % SECOND_NS / 1000));
}

void put_log_line(const struct film *film, const struct log_line *line, FILE *out)
{
	const struct film_thread *thread = &film->threads[line->thread];

	put_time(film, line->time, out);
	text_print_safe(out, thread->comm);
	fprintf(out, " (%u)", thread->tid);
	if (line->matched == LOG_BY_THREAD_NAME)
		fprintf(out, ", by its name, written by %u", film->threads[line->writer].tid);
	else if (line->matched == LOG_BY_REQUEST_ID)
		fprintf(out, ", by a request's id, written by %u", film->threads[line->writer].tid);
	fprintf(out, " %s", film_log_kind_name(line->kind));
	if (line->kind == FILM_LOG_FILE && *line->stream) {
		fputc(' ', out);
		text_print_safe(out, line->stream);
	}
	if (line->level)
		fprintf(out, " %s", film_log_level_name(line->level));
	fputs(": ", out);
	text_print_safe(out, line->text);
	if (line->flags & FILM_LOG_CUT)
		fprintf(out, " [cut: %u bytes]", line->size);
	fputc('\n', out);
}

/* The lines of the time of a question. */
static int read_lines(struct film *film, const struct question *q, struct log_lines *lines,
		      uint64_t *from, uint64_t *to, struct fail *why)
{
	int err = filter_span(&q->filter, &film->info, from, to, why);

	*lines = (struct log_lines){0};
	return err ? err : log_lines_read(lines, film, &q->filter, *from, *to, NULL, why);
}

static void put_left(const struct log_lines *lines, FILE *out)
{
	if (lines->left)
		fprintf(out, "and %llu more lines, for which there is no room\n",
			(unsigned long long)lines->left);
}

int show_logs(struct film *film, const struct question *q, const struct show_options *options,
	      FILE *out, uint64_t *count, struct fail *why)
{
	struct log_lines lines;
	uint64_t from, to;
	int err = read_lines(film, q, &lines, &from, &to, why);

	(void)options;
	*count = lines.all.count;
	vec_foreach (&lines.all, line)
		if (!err)
			put_log_line(film, line, out);
	if (!err)
		put_left(&lines, out);
	log_lines_free(&lines);
	return err;
}

void json_put_log(struct json *j, const struct log_shown *line, size_t characters)
{
	char text[FILM_LOG_MAX + 1];
	size_t bytes = line->bytes < characters ? line->bytes : characters;

	/* not in the middle of a character */
	while (bytes < line->bytes && bytes && ((uint8_t)line->text[bytes] & 0xc0) == 0x80)
		bytes--;
	memcpy(text, line->text, bytes);
	text[bytes] = 0;
	json_u64(j, "pid", line->pid);
	json_u64(j, "tid", line->tid);
	json_text(j, "comm", line->comm);
	json_text(j, "matched", log_matched_name(line->matched));
	json_u64(j, "writer", line->writer);
	json_text(j, "kind", film_log_kind_name(line->kind));
	json_text(j, "stream", line->stream);
	json_text(j, "level", film_log_level_name(line->level));
	json_u64(j, "size", line->size);
	json_bool(j, "cut", line->flags & FILM_LOG_CUT || bytes < line->bytes);
	json_bool(j, "unfinished", line->flags & FILM_LOG_UNFINISHED);
	json_text(j, "text", text);
}

int show_logs_json(struct film *film, const struct question *q, const struct show_options *options,
		   FILE *out, uint64_t *count, struct fail *why)
{
	struct json j = {.out = out};
	struct view_reasons losses = {0};
	struct log_lines lines;
	uint64_t from, to;
	int err = read_lines(film, q, &lines, &from, &to, why);

	(void)options;
	*count = lines.all.count;
	if (!err && view_count_losses(&losses, film, logs_event(film), 0))
		err = fail_errno(why, -ENOMEM, NULL, "cannot show lines of logs");
	if (!err && *count) {
		json_open(&j, NULL, '{');
		json_put_film(&j, film, from > film->info.start ? from : film->info.start,
			      to < film->info.end ? to : film->info.end);
		json_put_reasons(&j, "loss", &losses);
		json_open(&j, "lines", '[');
		vec_foreach (&lines.all, line) {
			const struct log_shown shown = log_shown_of(film, line);

			json_open(&j, NULL, '{');
			json_u64(&j, "time", shown.time);
			json_put_log(&j, &shown, FILM_LOG_MAX);
			json_close(&j, '}');
		}
		json_close(&j, ']');
		json_u64(&j, "left", lines.left);
		json_close(&j, '}');
		fputc('\n', out);
	}
	view_free_reasons(&losses);
	log_lines_free(&lines);
	return err;
}
