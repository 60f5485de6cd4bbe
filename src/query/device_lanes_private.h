/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DEVICE_LANES_PRIVATE_H
#define QUERY_DEVICE_LANES_PRIVATE_H

/* What device_lanes.c, which reads, and device_runs.c, which divides the time, share. */

#include "query/device_lanes.h"
#include "query/device_losses.h"

/* A kernel or copy. ns since 1970. */
struct device_lane_work {
	uint64_t start, end; /* within the time that is asked for */
	uint64_t whole;	     /* its length, also outside of that */
	uint64_t launch, bytes;
	uint32_t process, device, stream;
	uint32_t thread, name; /* of the film; 0: not known */
	bool is_copy;
};

struct device_adder {
	struct device_lanes *lanes;
	const struct film *film;
	const char *host;
	uint64_t offset;     /* from the film's clock to ns since 1970, modulo 2^64 */
	uint64_t start, end; /* what the film has of the time */
	uint8_t *processes;  /* that are kept */
	vec(struct device_lane_work) works;
	struct device_losses lost;
	struct device_loss left; /* from the first to the last one that has no room */

	/* while a run is made: ns of each name, twice the frame and 1 for a copy */
	uint64_t *spent;
	vec(uint32_t) touched;
};

/* A stream while its runs are made: its works come in the order of their begins. */
struct device_making {
	struct device_adder *a;
	struct device_stream *stream;
	uint64_t until, kernels_until; /* the last end so far: of all, of kernels */
	uint64_t all_ns;
	const struct device_loss *lost; /* of its process */
	size_t lost_count;
	struct device_run open;		/* of works shorter than a pixel; count 0: none is open */
	struct device_lane_work single; /* the first one of these */
};

/* Divides the time of a stream, whose works come in the order of their begins. False: no memory. */
bool device_runs_make(struct device_making *m, const struct device_lane_work *works, size_t count);

#endif
