/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_LANES_H
#define SOURCES_GPU_LANES_H

#include "bpf/capture/abi.h"
#include "sources/gpu/graphs.h"
#include "sources/gpu/losses.h"
#include "sources/source.h"
#include "sources/waiting.h"

/* What gpu-lanes writes: each kernel and copy, from when to when (struct film_work). */
struct gpu_lanes_to {
	struct source *source;
	struct waiting *launches; /* those whose stack is known, by their numbers */
	uint32_t event;		  /* of the film; not 0 */
	uint64_t begun;		  /* when the film did */
	struct gpu_losses *losses;
	struct gpu_graphs *graphs; /* where they were captured */
	/* the name of a hash of that process; null: not known */
	const char *(*name_of)(struct source *source, uint32_t pid, uint64_t work);
};

/* Writes those of a record, and counts what is damaged or of no known process. */
void gpu_lanes_write(const struct gpu_lanes_to *to, const struct capture_record *record);

/*
 * Writes that records of a process were lost from since (ns, CLOCK_MONOTONIC) to the time of the
 * record that says so.
 */
void gpu_lanes_write_lost(const struct gpu_lanes_to *to, const struct capture_record *record,
			  uint64_t since);

#endif
