/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_REPLAY_H
#define SHOW_REPLAY_H

#include <stdio.h>

#include "query/replay.h"
#include "show/call_lines.h"

/*
 * The calls of a film as they happened, one function per format. Each returns 0 or a negative errno
 * with *why filled; a caller that closes the stream sees whether that failed. Everything that
 * came from a film is hostile and is escaped here.
 */

/* A tree of text. */
int show_calls_text(struct film *film, const struct replay_question *q,
		    const struct call_lines_options *options, FILE *out, struct replay_sums *sums,
		    struct fail *why);

/*
 * JSON in the Trace Event Format of Chrome: a complete event ("X") for each call, with its times as
 * they were measured, since those of a call must lie within those of its caller; what is left
 * without the tracer's cost is among its args.
 */
int show_chrome(struct film *film, const struct replay_question *q, FILE *out,
		struct replay_sums *sums, struct fail *why);

/* A trace of Perfetto: packets of track events on the monotonic clock, measured times as above. */
int show_perfetto(struct film *film, const struct replay_question *q, FILE *out,
		  struct replay_sums *sums, struct fail *why);

#endif
