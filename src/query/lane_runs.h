/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LANE_RUNS_H
#define QUERY_LANE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/slices.h"

/*
 * A lane as it is drawn: runs of its slices. A slice of a pixel or more is a run of its own,
 * exactly as it is. Shorter ones that follow each other become one run of at most a pixel, which
 * counts them and has the kind that they spent most time in; so none is dropped, and there are at
 * most about two runs a pixel.
 */
struct lane_run {
	uint64_t start, end;
	uint64_t dominant; /* ns of kind; of one slice, its length */
	uint32_t count;	   /* of slices */
	uint8_t kind;	   /* enum slice_kind */
};

/* All zero is empty. */
struct lane_runs {
	vec(struct lane_run) all;
	/* the run that may still get slices, and what it has of each kind */
	struct lane_run open;
	uint64_t *spent;
};

/* Adds a slice, which begins where the last one ended, or later. False: no memory. */
bool lane_runs_add(struct lane_runs *runs, uint64_t pixel, uint64_t start, uint64_t end,
		   uint8_t kind);
/* Ends the open run: to be called at the end. False: no memory. */
bool lane_runs_end(struct lane_runs *runs);
void lane_runs_free(struct lane_runs *runs);

#endif
