// SPDX-License-Identifier: Apache-2.0
#include "query/log_lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "film/events.h"
#include "film/logs.h"
#include "query/explain/requests.h"

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

static int add_parts(void *context, const struct film_logs *logs)
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

#define COMM_MAX 15 /* characters that the kernel keeps of a thread's name */

enum {
	NAME_LEAST =
		3, /* characters of a name that is looked for: others are words of lines, too */
	NAMES_MAX = 1024, /* threads of a process whose names are looked for */
	ID_LEAST = 8,	  /* characters of a request's id */
};

/* A line may come that long after its request was answered. */
#define LATE_NS 5000000000ull

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Whether a text has a name as a word of its own. A name that was cut may go on. */
static bool has_name(const struct log_line *line, const char *name, size_t length)
{
	const char *at = line->text, *end = line->text + line->bytes;

	while ((at = memmem(at, (size_t)(end - at), name, length))) {
		const char *behind = at + length;

		if ((at == line->text || !is_of_name(at[-1])) &&
		    (length == COMM_MAX || behind == end || !is_of_name(*behind)))
			return true;
		at++;
	}
	return false;
}

/* The threads of a process, by name: those whose name no other one has. */
struct names {
	uint32_t process;
	vec(uint32_t) threads;
};

static int list_names(const struct film *film, uint32_t process, struct names *names)
{
	struct map known = {0};
	int err = 0;

	names->process = process;
	names->threads.count = 0;
	for (uint32_t i = 1; !err && i < film->thread_count; i++) {
		const char *comm = film->threads[i].comm;
		size_t length = strlen(comm);
		uint64_t *seen, key = hash_bytes(comm, length);

		if (film->threads[i].process != process || length < NAME_LEAST)
			continue;
		seen = map_get(&known, key);
		if (seen)
			names->threads.at[*seen] = 0;
		else if (names->threads.count >= NAMES_MAX)
			continue;
		else if (!vec_push(&names->threads, i) ||
			 !map_put(&known, key, names->threads.count - 1))
			err = -ENOMEM;
	}
	map_free(&known);
	return err;
}

static uint32_t named_by(const struct film *film, const struct names *names,
			 const struct log_line *line)
{
	const char *process = film->processes[names->process].comm;
	uint32_t found = 0;

	for (size_t i = 0; i < names->threads.count; i++) {
		uint32_t thread = names->threads.at[i];
		const char *comm = thread ? film->threads[thread].comm : "";

		/* the program's own name is in many lines */
		if (!*comm || !strcmp(comm, process) || !has_name(line, comm, strlen(comm)))
			continue;
		/* the writer's own name, or several: it is of none of the others */
		if (thread == line->writer || found)
			return 0;
		found = thread;
	}
	return found;
}

/* A request that was served, by its id. */
struct served {
	uint64_t start, end;
	uint32_t thread;
	uint32_t next; /* of the same id, and 1; 0: none */
};

struct owners {
	const struct film *film;
	vec(struct served) served;
	struct map ids; /* of the id, a hash: the last one with it */
	int err;
};

static int add_request(void *context, const struct request *request)
{
	struct owners *o = context;
	size_t length = strlen(request->id);
	uint64_t key = hash_bytes(request->id, length);
	const uint64_t *known;
	struct served served = {
		.start = request_start(request),
		.end = request->row.end,
		.thread = request_answerer(request),
	};

	if (request->row.role != FILM_REQUEST_SERVED || length < ID_LEAST || !served.thread)
		return 0;
	known = map_get(&o->ids, key);
	served.next = known ? (uint32_t)*known + 1 : 0;
	if (!vec_push(&o->served, served) || !map_put(&o->ids, key, o->served.count - 1))
		o->err = -ENOMEM;
	return o->err;
}

/* The thread of the line's process that served a request of that id then; 0: none. */
static uint32_t served_by(const struct owners *o, const struct log_line *line, const char *id,
			  size_t length)
{
	const uint64_t *known = map_get(&o->ids, hash_bytes(id, length));
	uint32_t process = o->film->threads[line->writer].process;

	for (uint32_t i = known ? (uint32_t)*known + 1 : 0; i; i = o->served.at[i - 1].next) {
		const struct served *served = &o->served.at[i - 1];

		if (o->film->threads[served->thread].process == process &&
		    line->time >= served->start && line->time < served->end + LATE_NS)
			return served->thread;
	}
	return 0;
}

static uint32_t request_of(const struct owners *o, const struct log_line *line)
{
	const char *at = line->text, *end = line->text + line->bytes;
	uint32_t found = 0;

	while (!found && at < end) {
		const char *word = at;

		while (at < end && is_of_name(*at))
			at++;
		if (at - word >= ID_LEAST)
			found = served_by(o, line, word, (size_t)(at - word));
		at += at == word || at < end;
	}
	return found;
}

static void set_owner(const struct owners *o, const struct names *names, struct log_line *line)
{
	uint32_t thread = o->served.count ? request_of(o, line) : 0;

	line->matched = LOG_BY_REQUEST_ID;
	if (!thread) {
		thread = named_by(o->film, names, line);
		line->matched = LOG_BY_THREAD_NAME;
	}
	if (!thread || thread == line->writer) {
		thread = line->writer;
		line->matched = LOG_BY_WRITER;
	}
	line->thread = thread;
}

static int by_process(const void *x, const void *y, void *context)
{
	const struct log_lines *lines = context;
	const struct film_thread *threads = lines->film->threads;
	const size_t *a = x, *b = y;
	uint32_t p = threads[lines->all.at[*a].writer].process;
	uint32_t q = threads[lines->all.at[*b].writer].process;

	return p < q ? -1 : p > q;
}

/* Process by process, as the names of a process are listed once. 0 or -ENOMEM. */
static int set_owners(const struct owners *o, struct log_lines *lines)
{
	size_t count = lines->all.count, *order = calloc(count, sizeof(*order));
	struct names names = {0};
	int err = order ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		order[i] = i;
	if (!err)
		qsort_r(order, count, sizeof(*order), by_process, lines);
	for (size_t i = 0; !err && i < count; i++) {
		struct log_line *line = &lines->all.at[order[i]];
		uint32_t process = o->film->threads[line->writer].process;

		if (names.process != process)
			err = list_names(o->film, process, &names);
		if (!err && process)
			set_owner(o, &names, line);
	}
	vec_free(&names.threads);
	free(order);
	return err;
}

/*
 * Finds the threads that lines belong to, by their text. Returns 0 or a negative errno with *why
 * filled.
 */
static int log_owners_find(struct log_lines *lines, struct film *film, struct fail *why)
{
	struct owners o = {.film = film};
	int err;

	if (!lines->all.count)
		return 0;
	err = requests_each(film, 0, UINT64_MAX, add_request, &o, why);
	if (!err && !o.err)
		o.err = set_owners(&o, lines);
	if (o.err)
		err = fail_errno(why, o.err, NULL, "cannot find the threads of lines");
	vec_free(&o.served);
	map_free(&o.ids);
	return err;
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
		err = film_each_logs(film, event, from, to, add_parts, &r, why);
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
