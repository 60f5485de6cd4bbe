/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_STATE_H
#define SOURCES_CALLS_STATE_H

#include "base/vec.h"
#include "sources/calls/calls.h"
#include "sources/calls/cost.h"
#include "sources/calls/reach.h"
#include "sources/calls/slow.h"
#include "sources/calls/sums.h"
#include "sources/calls/tracks.h"
#include "sources/calls/debuggers.h"
#include "attach/links.h"
#include "attach/uprobes.h"

/* What the tracer keeps to itself; calls.c sets it up, records.c counts in it. */

struct traced {
	const char *name;
	uint32_t frame; /* of the film */
	uint32_t own, outer, error;
	uint64_t calls, calls_before; /* before: at the last tick */
	uint8_t hot;		      /* ticks in a row */
	bool out;		      /* taken out */
};

struct calls {
	struct calls_options options;
	struct calls_camera camera;
	struct uprobe_ways ways;
	struct plan *plan;
	struct uprobes *uprobes;
	struct reach *reach; /* which processes have them; null: none */
	pid_t command;	     /* the process of selection->command; 0: not known, or there is none */
	struct calls_sums *sums;
	struct calls_slow *slow;
	struct calls_cost cost;
	struct links links;
	struct uprobes_counts attached; /* when it was detached */
	vec(struct traced) functions;	/* by number in the plan */
	struct calls_tracks tracks;
	vec(uint32_t) film_images; /* by image of the plan */
	vec(char *) programs;	   /* that targets have been seen to run */
	struct debuggers debuggers;
	bool gave_way; /* to one: the probes are gone */
	char *hottest;
	size_t probed, taken_out; /* functions */
	uint64_t calls, last_tick;
	uint64_t strangers;	       /* calls of threads that could not be kept */
	size_t late;		       /* files that were mapped by targets later */
	size_t images;		       /* of the plan, that have been made ready */
	const struct inspect *inspect; /* --args; null: not asked for */
	size_t given;		       /* calls whose arguments or results wait for their end */
	uint64_t args_lost; /* arguments or results: too many waited, or there was no memory */
	/* calls whose arguments have not come, or which have returned without their results */
	uint64_t args_missed, results_missed;
};

/* A loss of calls, of which some are named. */
void calls_report_loss(struct calls *calls, const char *what, const char *which);

/*
 * args.c: a call has ended. calls_args_write() writes what has come of its arguments and
 * results, as those of a call in the film; calls_args_results() adds its results to a tree, whose
 * texts live until calls_args_end(), which comes last.
 */
void calls_args_write(struct calls *calls, struct calls_track_row *track,
		      const struct calls_record *record, const struct film_call *call);
void calls_args_results(const struct calls *calls, struct calls_track_row *track,
			const struct calls_record *record, struct shown_tree *tree);
void calls_args_end(struct calls *calls, struct calls_track_row *track,
		    const struct calls_record *record);
/* Whether the arguments of a function are taken. */
bool calls_args_expected(const struct calls *calls, uint32_t function);
/* Gives the listener what was held back for its arguments. */
void calls_args_release(struct calls *calls, struct calls_track_row *track);
void calls_args_losses(struct calls *calls);

/* processes.c: which processes get probes, and when. */
int calls_reach_new(struct calls *calls);
int calls_reach_start(struct calls *calls, struct fail *why);
bool calls_reach_image(struct calls *calls, uint32_t image, pid_t pid, bool *each);
void calls_reach_tick(struct calls *calls);

#endif
