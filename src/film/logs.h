/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOGS_H
#define FILM_LOGS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A part of a line that a thread wrote to a log. Lines are cut into parts of FILM_LOG_TEXT bytes,
 * so that their text stands in columns as numbers do: all parts of a line have the same time,
 * thread and number.
 */
#define FILM_LOG_TEXT  128
#define FILM_LOG_MAX   16384 /* bytes that a film keeps of a line */
#define FILM_LOG_PARTS (FILM_LOG_MAX / FILM_LOG_TEXT)

enum film_log_flag {
	FILM_LOG_CUT = 1,	 /* a part of the line is not here: it was too long, or not read */
	FILM_LOG_UNFINISHED = 2, /* no newline ended it when the film, or its writer, went on */
};

/* Where a line went. */
enum film_log_kind {
	FILM_LOG_OUTPUT = 1, /* standard output, */
	FILM_LOG_ERROR,	     /* and standard error, be they files, pipes or terminals */
	FILM_LOG_FILE,	     /* a file whose name ends in .log */
	FILM_LOG_JOURNAL,    /* the journal's socket, */
	FILM_LOG_SYSLOG,     /* or syslog's */
	FILM_LOG_KINDS,
};

struct film_log {
	uint64_t time;
	uint64_t number; /* the line's own: no other one of this machine has it */
	char text[FILM_LOG_TEXT];
	uint32_t thread; /* that wrote it */
	uint32_t stream; /* a frame, a mark: the path of the file; 0: there is none, or not known */
	uint32_t size;	 /* bytes of the whole line, as far as they were seen */
	uint16_t part;	 /* which one of the line this is, from 0 */
	uint8_t bytes;	 /* of text: all, but in the last part */
	uint8_t kind;	 /* enum film_log_kind */
	uint8_t level;	 /* syslog(3)'s, 0 to 7, and 1; 0: the line does not say it */
	uint8_t flags;	 /* enum film_log_flag */
};

/* A block of them, as columns, sorted by time; texts in words of eight bytes. */
struct film_logs {
	size_t count;
	const uint64_t *time, *number;
	const uint64_t *text[FILM_LOG_TEXT / 8];
	const uint32_t *thread, *stream, *size, *part, *bytes, *kind, *level, *flags;
};

/* "output", "error", "file", "journal", "syslog"; "unknown" for one of a later version */
const char *film_log_kind_name(unsigned int kind);

/* "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"; else "" */
const char *film_log_level_name(unsigned int level);

#endif
