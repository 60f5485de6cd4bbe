/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_REPLAY_H
#define SHOW_REPLAY_H

#include <stdio.h>

#include "query/replay.h"
#include "show/call_lines.h"

/*
 * Prints the calls of a film as they happened, as a tree of text. Returns 0 or a negative errno
 * with *why filled; a caller that closes the stream sees whether that failed. Everything that came
 * from a film is hostile and is escaped here.
 */
int show_calls_text(struct film *film, const struct replay_question *q,
		    const struct call_lines_options *options, FILE *out, struct replay_sums *sums,
		    struct fail *why);

#endif
