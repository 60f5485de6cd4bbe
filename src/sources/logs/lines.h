/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LOGS_LINES_H
#define SOURCES_LOGS_LINES_H

#include "bpf/logs/abi.h"
#include "film/logs.h"

/*
 * Makes lines of what threads write: a line may be written in several calls, and a call may write
 * several lines. What one thread writes to one file is joined until a newline ends it, or nothing
 * more comes for a second.
 */
struct logs_lines;

struct logs_line {
	uint64_t time;			  /* when its end was written */
	struct capture_identity identity; /* of the thread */
	uint32_t object;		  /* number of the file; 0: not known */
	const char *text;		  /* of size bytes, of which these are here, */
	size_t bytes;			  /* at most FILM_LOG_MAX */
	uint64_t size;
	uint8_t kind, level, flags; /* as of a struct film_log */
};

struct logs_lines_to {
	void (*emit)(void *context, const struct logs_line *line);
	void *context;
};

/* Null: no memory. */
struct logs_lines *logs_lines_new(const struct logs_lines_to *to);
void logs_lines_free(struct logs_lines *lines); /* null is allowed */

/* A record, all of whose bytes are there. */
void logs_lines_add(struct logs_lines *lines, const struct logs_record *record);

/* Gives lines that were begun, and not gone on with since that time: UINT64_MAX: all of them. */
void logs_lines_flush(struct logs_lines *lines, uint64_t since);

struct logs_lines_counts {
	uint64_t data;	 /* calls that wrote no text */
	uint64_t cut;	 /* bytes of lines that are not given: too long */
	uint64_t unread; /* bytes that could not be read, or were beyond what is copied of a call */
	uint64_t refused; /* calls for which there was no memory */
};
struct logs_lines_counts logs_lines_counts(const struct logs_lines *lines);

#endif
