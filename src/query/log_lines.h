/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOG_LINES_H
#define QUERY_LOG_LINES_H

#include "base/fail.h"
#include "base/vec.h"
#include "film/arena.h"
#include "query/filter.h"

/*
 * Lines of logs (film/logs.h), put together from their parts, and the threads that they are of.
 * Loggers that hand lines over write them in a thread of their own: where a line says whose it is,
 * by the name of another thread of the process or the id of a request, it is of that thread, and
 * how that is known stands beside it.
 */
enum log_matched {
	LOG_BY_WRITER,	    /* the thread wrote it, and the line names no other one */
	LOG_BY_THREAD_NAME, /* the line has the name that this thread alone has in the process */
	LOG_BY_REQUEST_ID,  /* the line has the id of a request that this thread served then */
};

struct log_line {
	uint64_t time; /* of the film's clock */
	uint64_t number;
	const char *text; /* terminated; it may have other zeros */
	size_t bytes;
	uint32_t size;		    /* of the line as it was written */
	uint32_t writer, thread;    /* ids of threads: that wrote it, that it is of */
	const char *stream;	    /* path of the file; "": none, or not known */
	uint8_t matched;	    /* enum log_matched */
	uint8_t kind, level, flags; /* as of a struct film_log */
};

struct log_lines {
	const struct film *film;
	vec(struct log_line) all; /* in order of time */
	uint64_t left;		  /* lines that are not here: there was no room */
	struct arena texts;
};

/* A line in words that need no film. */
struct log_shown {
	uint64_t time; /* ns since 1970 */
	const char *host, *comm, *stream, *text;
	size_t bytes;
	uint32_t size, pid, tid, writer; /* writer: number of the thread that wrote it */
	uint8_t matched, kind, level, flags;
};

/* Its strings are those of the film and of the line; host is the film's. */
struct log_shown log_shown_of(const struct film *film, const struct log_line *line);

/* The most lines of one answer, and the bytes of their texts. */
#define LOG_LINES_MAX (1u << 20)
#define LOG_BYTES_MAX (256u << 20)

/* The film's event of logs; 0: there is none. */
uint32_t logs_event(const struct film *film);

/*
 * Reads the lines of a film that were written in [from, to). A line is there if the filter keeps
 * the thread that it is of, and if it has the text find, in letters of any case (null: all lines).
 * Returns 0 or a negative errno with *why filled; 0 and no lines if the film has none.
 * log_lines_free() is needed in either case.
 */
int log_lines_read(struct log_lines *lines, struct film *film, const struct filter *filter,
		   uint64_t from, uint64_t to, const char *find, struct fail *why);
void log_lines_free(struct log_lines *lines);

/* "writer", "thread-name", "request-id" */
const char *log_matched_name(unsigned int matched);

#endif
