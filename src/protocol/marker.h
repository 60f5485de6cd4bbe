/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_MARKER_H
#define PROTOCOL_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Lines that a program writes to /dev/null to say for which request its thread works:
 *
 *	stackcam: begin id=ORDER-17 endpoint="POST /orders"
 *	stackcam: end id=ORDER-17 status=ok
 *
 * Behind the verb come fields, in any order, with blanks in between: KEY=VALUE, or KEY="VALUE" with
 * \" and \\ for these two characters. Fields that are not known are passed over. They are hostile,
 * and are parsed with bounds.
 */
enum {
	MARKER_VALUE_MAX = 128, /* bytes of a value with its terminating zero */
};

enum marker_verb {
	MARKER_OVER,	/* there are no more lines */
	MARKER_STRANGE, /* a line that is none, or lacks something */
	MARKER_BEGIN,	/* the thread works for that request from now on */
	MARKER_END,	/* that request is done */
};

struct marker {
	/* terminated, without control characters; empty: it was not there */
	char id[MARKER_VALUE_MAX], parent[MARKER_VALUE_MAX], endpoint[MARKER_VALUE_MAX];
	uint32_t status; /* status=NUMBER; 0: it was a word, or was not there */
	bool failed;	 /* status=failed, or another number than 0 */
};

/* Reads one line of a text, and moves *at behind it. Empty lines are passed over. */
enum marker_verb marker_read(const char **at, const char *end, struct marker *marker);

#endif
