/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_BACKLOG_H
#define SEND_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "send/spool.h"

/* What an agent has not delivered: for its own log, and for the server that gets a film. */
struct backlog {
	/* films that were sent and not confirmed: a collector may have each of them, or not */
	uint64_t doubt;
	uint64_t films;	 /* that wait in the spool, those in doubt included */
	uint64_t bytes;	 /* of these */
	uint64_t oldest; /* s since the oldest of them began; 0: none waits */
};

/*
 * What waits beside the film of that number (0: all), by the clock wall (ns since 1970). doubt: of
 * that film none. Films say by their number when they began; one with another number than its first
 * (spool_renumber()) began with that.
 */
void backlog_read(struct spool *spool, uint64_t beside, uint64_t doubt, uint64_t wall,
		  struct backlog *backlog);

/*
 * The header of a film on its way, "X-Stackcam-Backlog: doubt=1, films=12, oldest=93, bytes=4096".
 */
void backlog_put_header(const struct backlog *backlog, char *to, size_t size);

/*
 * When a line for the log is due: at once where a film is in doubt, else a minute after films began
 * to wait; then again after a minute, two, four, up to an hour. Never twice in a minute. All zero
 * is the start.
 */
struct backlog_pace {
	uint64_t since; /* films cannot be sent; ns of a monotonic clock, as now; 0: they can */
	uint64_t last, pause;
};
/* is_stuck: a film is in doubt, or could not be sent. True: the line is to be written now. */
bool backlog_is_due(struct backlog_pace *pace, uint64_t now, bool is_stuck, uint64_t doubt);

#endif
