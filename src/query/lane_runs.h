/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LANE_RUNS_H
#define QUERY_LANE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/slices.h"

/*
 * A lane for drawing. A slice of at least a pixel is an exact run. Shorter slices that follow each
 * other are merged into runs of at most a pixel, which have their number and the kind with the most
 * time; none is dropped, and there are at most about two runs per pixel.
 */
struct lane_run {
	uint64_t start, end;
	uint64_t dominant; /* ns of kind in the run; for one slice its length */
	uint32_t count;	   /* number of slices */
	uint8_t kind;	   /* enum slice_kind */
};

/* All zero is empty. */
struct lane_runs {
	vec(struct lane_run) all;
	/* the run that may still get slices, and its ns by kind */
	struct lane_run open;
	uint64_t *spent;
};

/* Adds a slice that begins at the end of the last one or later. False: no memory. */
bool lane_runs_add(struct lane_runs *runs, uint64_t pixel, uint64_t start, uint64_t end,
		   uint8_t kind);
/* Closes the open run; call it after the last slice. False: no memory. */
bool lane_runs_end(struct lane_runs *runs);
void lane_runs_free(struct lane_runs *runs);

#endif
