/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_INSPECT_VERB_H
#define CMD_INSPECT_VERB_H

#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "sources/inspect/inspect.h"
#include "cmd/kept.h"
#include "cmd/recording.h"
#include "cmd/verb.h"
#include "film/event_list.h"
#include "show/inspect_summary.h"

/* What the command line of 'stackcam inspect' says, and what the verb has open. */
struct inspect_verb {
	struct recording_options common;
	struct kept kept;
	struct inspect_options inspect;
	struct event_list events; /* beside it, into the film */
	vec(struct plan_pattern) patterns;
	vec(const char *) redacted;
	vec(const char *) inside;
	vec(struct inspect_place) places;
	vec(char *) files; /* of the places: owned */
	vec(char *) parts; /* owned */
	char *pattern;	   /* of one with parameters: its name without them */
	char *listed[2];
	const char *text;
	bool json, list, summed, live, returns;
	struct inspect_summary *summary; /* null: each call is printed */
	int failed;			 /* a call could not be added to it */
	FILE *out;
	int64_t wall_offset;
	uint64_t film_bytes, shortened; /* shortened: calls, to fit their lines */
};

/* What is redacted also without an option, ending with a null, and the usual limits. */
extern const char *const inspect_usual_redacted[];
extern const struct inspect_limits inspect_usual_limits;

/* Takes the command line. Returns an exit status: 0, or EXIT_USAGE, which has been explained. */
int inspect_verb_parse(int argc, char **argv, struct inspect_verb *o);

#endif
