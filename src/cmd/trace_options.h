/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TRACE_OPTIONS_H
#define CMD_TRACE_OPTIONS_H

#include <stdbool.h>

#include "base/vec.h"
#include "sources/calls/calls.h"
#include "cmd/kept.h"
#include "cmd/recording.h"
#include "film/event_list.h"
#include "show/call_long.h"

#define MAX_RATE_UNSAID UINT64_MAX

/*
 * What the command line of `stackcam trace` says; strings are argv's. Set calls.max_rate to
 * MAX_RATE_UNSAID before.
 */
struct trace_options {
	struct recording_options common;
	struct kept kept;
	struct event_list events; /* beside it, into the film */
	struct calls_options calls;
	vec(struct plan_pattern) patterns;
	vec(const char *) inside;
	struct call_lines_options lines;
	const char *text;
	bool live, list, color, no_color;
	bool args;
	bool sums_only; /* of --summary without -o: a table, and no film is kept */
	vec(const char *) redacted;
};

/* Returns 0, or the exit status of a wrong usage, with words printed; -h ends the program. */
int trace_options_parse(int argc, char **argv, struct trace_options *o);

/* After a failure, too. */
void trace_options_free(struct trace_options *o);

#endif
