/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SAY_H
#define HOST_SAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * "stackcam: WORDS" to standard error: what is reported while it goes on, a line from any thread.
 */
void host_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, for those that take a function; context is not used. */
void host_say_words(void *context, const char *words);

/* What failed, what to do, and then the consequence, which may be "". */
void host_say_fail(const struct fail *why, const char *then);

/* Warns where others can read a file of tokens; null: there is none. */
void host_say_exposed(const char *token_file);

/*
 * Lines of one kind in the log, of which there may be thousands: one in a minute. All zero: none
 * was said.
 */
struct say_rarely {
	uint64_t next; /* ns of the monotonic clock: when another may be said */
	uint64_t more; /* that were not said since the last one */
};

/* Whether this one is said, at a time in ns of the monotonic clock; *more: how many were not. */
bool say_rarely(struct say_rarely *of, uint64_t time, uint64_t *more);

#endif
