/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_GRAPHS_H
#define SOURCES_GPU_GRAPHS_H

#include <stdint.h>

#include "base/map.h"
#include "resolve/kept_stacks.h"
#include "resolve/samples.h"

/*
 * Where graphs were captured: the stack of each site, and stacks of launches with those of sites
 * behind them. Sites are known for as long as their process runs, over all films. All zero: empty.
 */
struct gpu_graphs {
	struct map sites;	 /* a process and the number of one of its sites -> a kept stack */
	struct kept_stacks kept; /* of sites */
	struct map joined;	 /* of this film: a launch's stack and a kept one -> both */
	uint64_t unknown;	 /* kernels and copies whose site is not known */
};

/* The most sites and joined stacks: what has no room is not known. */
#define GPU_SITES_MAX  (1u << 18)
#define GPU_JOINED_MAX (1u << 18)

/* A node of a graph was made: keeps the stack of its site. */
void gpu_graphs_captured(struct gpu_graphs *graphs, struct samples *samples,
			 const struct capture_record *record,
			 const struct capture_handover *handover);

/*
 * The stack of a launch, with the site at which what has run was captured at its leaf, or a mark
 * that it is not known; *is_known: which of both. 0: the film is full.
 */
uint32_t gpu_graphs_stack(struct gpu_graphs *graphs, struct samples *samples, uint32_t pid,
			  uint32_t site, uint32_t launch, bool *is_known);

/* The process is gone. */
void gpu_graphs_forget(struct gpu_graphs *graphs, uint32_t pid);

/* Another film begins. */
void gpu_graphs_next_film(struct gpu_graphs *graphs);

void gpu_graphs_free(struct gpu_graphs *graphs);

#endif
