/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DEVICE_LANES_H
#define QUERY_DEVICE_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "query/filter.h"
#include "query/names.h"

/*
 * The streams of devices (event gpu-lanes) for drawing, from one film or from consecutive films. A
 * kernel or copy of at least a pixel is an exact run. Shorter ones of a stream that begin in the
 * same pixel are one run with their number, as is what ran beside a longer one of the same stream;
 * none is dropped. Between runs a stream was idle. Times are ns since 1970.
 */
enum device_run_kind {
	DEVICE_RUN_KERNEL,
	DEVICE_RUN_COPY,
	DEVICE_RUN_UNKNOWN, /* records of its process were lost, and it ran nothing else then */
};

struct device_run {
	uint64_t start, end; /* within the time that is asked for */
	uint64_t busy;	     /* ns that something ran in it; of one work its whole length */
	uint64_t dominant;   /* ns of what has name */
	uint64_t launch;     /* of one work; 0: not known */
	uint64_t bytes;	     /* of all copies in it */
	uint32_t name;	     /* of names: what ran longest */
	uint32_t thread;     /* of threads and 1: it launched the one work; 0: not known */
	uint32_t count;	     /* kernels and copies; 0: it is unknown */
};

struct device_name {
	const char *name; /* "": not known */
	enum device_run_kind kind;
};

struct device_thread {
	const char *comm, *process;
	uint32_t pid, tid;
};

/* Each ns of the time is in exactly one of the four. */
struct device_stream {
	const char *host, *process;
	uint32_t pid, device, stream;
	uint64_t kernels_ns; /* at least one kernel ran */
	uint64_t copies_ns;  /* no kernel ran, but a copy did */
	uint64_t idle_ns;
	uint64_t unknown_ns; /* records were lost, or no film covers it */
	uint64_t kernels, copies, bytes;
	vec(struct device_run) runs;
};

/* Time of a host that films cover. */
struct device_filmed {
	const char *host;
	uint64_t start, end;
};

enum {
	DEVICE_STREAMS_MAX = 4096,
	DEVICE_RUNS_MAX = 1 << 20,
	/* of a film: read at once */
	DEVICE_WORKS_MAX = 1 << 21,
};

struct device_lanes {
	/* the request; set it before device_lanes_add() */
	uint64_t from, to;
	uint64_t pixel; /* ns, at least 1 */

	vec(struct device_stream) streams; /* by host, process, device and number */
	vec(struct device_name) names;
	vec(struct device_thread) threads;
	uint64_t works; /* kernels and copies in the answer */
	/* for which there was no room: their time is unknown; or with times that cannot be */
	uint64_t left;
	bool is_cut;	  /* there was no room for all runs or streams */
	size_t run_count; /* so far */

	vec(struct device_filmed) filmed;
	struct map known_streams, known_names, known_threads;
	struct name_pool pool;
};

/*
 * Adds what the devices of the processes that the filter keeps ran in [from, to), by the film's
 * clock; a film without the event has none. A process is kept if one of its threads is. Returns 0
 * or a negative errno with *why filled; -EINVAL: the filter selects stacks.
 */
int device_lanes_add(struct device_lanes *lanes, struct film *film, const char *host,
		     const struct filter *filter, uint64_t from, uint64_t to, struct fail *why);

/* Completes the sums and sorts; call it once after the last device_lanes_add(). */
void device_lanes_end(struct device_lanes *lanes);
void device_lanes_free(struct device_lanes *lanes);

/* "kernel", "copy", "unknown" */
const char *device_run_kind_name(enum device_run_kind kind);

#endif
