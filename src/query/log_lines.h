/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOG_LINES_H
#define QUERY_LOG_LINES_H

#include "base/fail.h"
#include "base/vec.h"
#include "film/arena.h"
#include "query/filter.h"

/*
 * Assembles log lines (film/logs.h) from their parts, and finds the thread that each belongs to.
 * Some loggers write all lines in a thread of their own. If a line has the name of another thread
 * of the process, or the id of a request, it is attributed to that thread, and log_line.matched
 * says how that is known.
 */
enum log_matched {
	LOG_BY_WRITER,	    /* the thread wrote the line, which names no other */
	LOG_BY_THREAD_NAME, /* the line has a name that only this thread of the process has */
	LOG_BY_REQUEST_ID,  /* the line has the id of a request that the thread served then */
};

struct log_line {
	uint64_t time; /* by the film's clock */
	uint64_t number;
	const char *text; /* terminated, but may contain zero bytes */
	size_t bytes;
	uint32_t size; /* of the line as written */
	/* ids: the thread that wrote it, the thread that it belongs to */
	uint32_t writer, thread;
	const char *stream;	    /* path of the file; "": none, or not known */
	uint8_t matched;	    /* enum log_matched */
	uint8_t kind, level, flags; /* as in struct film_log */
};

struct log_lines {
	const struct film *film;
	vec(struct log_line) all; /* sorted by time */
	uint64_t left;		  /* number of lines for which there was no room */
	struct arena texts;
};

/* A line that can be displayed without the film. */
struct log_shown {
	uint64_t time; /* ns since 1970 */
	const char *host, *comm, *stream, *text;
	size_t bytes;
	uint32_t size, pid, tid, writer; /* writer: tid of the thread that wrote it */
	uint8_t matched, kind, level, flags;
};

/* Its strings belong to the film and to the line. */
struct log_shown log_shown_of(const struct film *film, const struct log_line *line);

/* Most lines of one result, and most bytes of their texts. */
#define LOG_LINES_MAX (1u << 20)
#define LOG_BYTES_MAX (256u << 20)

/* The id of the film's event of logs; 0: none. */
uint32_t logs_event(const struct film *film);

/*
 * Reads the lines that were written in [from, to), belong to a thread that the filter keeps, and
 * contain the text find, ignoring case (null: all lines). Returns 0, also if the film has no lines,
 * or a negative errno with *why filled. Call log_lines_free() in both cases.
 */
int log_lines_read(struct log_lines *lines, struct film *film, const struct filter *filter,
		   uint64_t from, uint64_t to, const char *find, struct fail *why);
void log_lines_free(struct log_lines *lines);

/* "writer", "thread-name", "request-id" */
const char *log_matched_name(unsigned int matched);

#endif
