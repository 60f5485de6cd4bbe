/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_GRAPHS_H
#define SOURCES_GPU_GRAPHS_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/gpu/on_gpu_abi.h"
#include "resolve/samples.h"
#include "resolve/stack_rows.h"

/*
 * Where graphs were captured: the stack of each site, and stacks of launches with those of sites
 * behind them, for one film. All zero: empty.
 */
struct gpu_graphs {
	struct map sites;  /* a process and the number of one of its sites -> a stack */
	struct map stacks; /* of a site -> index of its frames */
	vec(struct stack_frames) frames;
	struct map joined; /* a stack of a launch and one of a site -> both */
	uint64_t unknown;  /* kernels and copies whose site is not known */
};

/* The most sites, frames of their stacks, and joined stacks: what has no room is not known. */
#define GPU_SITES_MAX  (1u << 18)
#define GPU_STACKS_MAX (1u << 14)
#define GPU_JOINED_MAX (1u << 18)

/* A node of a graph was made: keeps the stack of its site. */
void gpu_graphs_captured(struct gpu_graphs *graphs, struct samples *samples,
			 const struct capture_record *record,
			 const struct capture_handover *handover);

/*
 * The stack of a launch, with the site at which what has run was captured at its leaf, or a mark
 * that it is not known, which is counted. 0: the film is full.
 */
uint32_t gpu_graphs_stack(struct gpu_graphs *graphs, struct samples *samples,
			  const struct on_gpu_ran *ran, uint32_t launch);

/* The process is gone. */
void gpu_graphs_forget(struct gpu_graphs *graphs, uint32_t pid);

/* Frees all, but for the count: another film follows. */
void gpu_graphs_empty(struct gpu_graphs *graphs);

#endif
