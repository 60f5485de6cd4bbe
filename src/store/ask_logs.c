// SPDX-License-Identifier: Apache-2.0
/* Lines that threads wrote to logs: the films have them, the index does not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/ask_private.h"
#include "store/logs.h"

struct adder {
	struct store_logs *logs;
	struct fail *why;
};

static bool is_wanted(const struct store_logs *logs, const struct log_shown *line)
{
	for (size_t i = 0; i < logs->of_count; i++)
		if (logs->of[i].pid == line->pid && logs->of[i].tid == line->tid)
			return true;
	return !logs->of;
}

static bool keep(struct store_logs *logs, struct log_shown line, const char *host)
{
	line.host = arena_text(&logs->texts, host, strlen(host));
	line.comm = arena_text(&logs->texts, line.comm, strlen(line.comm));
	line.stream = arena_text(&logs->texts, line.stream, strlen(line.stream));
	line.text = arena_text(&logs->texts, line.text, line.bytes);
	return line.host && line.comm && line.stream && line.text && vec_push(&logs->lines, line);
}

/* The first lines of a film, as many as are wanted in all. */
static int add_lines(struct adder *t, const struct ask_film *of, const struct log_lines *lines)
{
	struct store_logs *logs = t->logs;
	size_t taken = 0;

	logs->left += lines->left;
	vec_foreach (&lines->all, line) {
		const struct log_shown shown = log_shown_of(of->film, line);

		/* a line may be of a request that another service wrote of */
		if (!is_wanted(logs, &shown) ||
		    (of->is_limited && !ask_film_keeps(of, line->writer)))
			continue;
		if (taken++ >= logs->limit)
			logs->left++;
		else if (!keep(logs, shown, of->host))
			return fail_errno(t->why, -ENOMEM, NULL, "cannot list lines of logs");
	}
	return 0;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;
	struct log_lines lines = {0};
	uint64_t from, to;
	int err = filter_span(&of->question->filter, &of->film->info, &from, &to, t->why);

	if (!err)
		err = log_lines_read(&lines, of->film, &of->question->filter, from, to,
				     t->logs->find, t->why);
	if (!err)
		err = add_lines(t, of, &lines);
	log_lines_free(&lines);
	return err;
}

static int by_time(const void *x, const void *y)
{
	const struct log_shown *a = x, *b = y;

	return a->time < b->time ? -1 : a->time > b->time;
}

int store_logs(struct store *store, const struct store_ask *ask, struct store_logs *logs,
	       struct store_sum *sum, struct fail *why)
{
	struct adder t = {logs, why};
	struct asked asked = {0};
	int err;

	*sum = (struct store_sum){0};
	err = asked_begin(&asked, store, ask, why);
	logs->from = asked.from;
	logs->to = asked.to;
	if (!err)
		err = ask_films(&asked, film_open, sum, add_film, &t, why);
	asked_free(&asked);
	/* films come the newest first */
	if (!err && logs->lines.count)
		qsort(logs->lines.at, logs->lines.count, sizeof(*logs->lines.at), by_time);
	if (logs->lines.count > logs->limit) {
		logs->left += logs->lines.count - logs->limit;
		logs->lines.count = logs->limit;
	}
	return err;
}

void store_logs_free(struct store_logs *logs)
{
	vec_free(&logs->lines);
	arena_free(&logs->texts);
}
