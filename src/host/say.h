/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SAY_H
#define HOST_SAY_H

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

#endif
