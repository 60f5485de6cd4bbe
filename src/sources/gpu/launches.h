/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_LAUNCHES_H
#define SOURCES_GPU_LAUNCHES_H

#include "resolve/kept_stacks.h"
#include "sources/gpu/losses.h"
#include "sources/waiting.h"

/*
 * Launches whose kernels have not run, and waits that have not ended: their stacks wait for what
 * they are worth (sources/waiting.h), also for longer than a film.
 */
struct gpu_launches_to {
	struct waiting *waiting;
	struct kept_stacks *kept;
	struct samples *samples;
	struct gpu_losses *losses;
	uint32_t event; /* of waits, in the new film */
};

/* The most launches whose kernels have not run, with waits that have not ended. */
#define GPU_LAUNCHES_WAITING_MAX (1u << 18)

/* What a launch is worth (struct waiting_half): whether one of its kernels is known. */
enum {
	GPU_HAS_NO_KERNEL,
	GPU_HAS_KERNEL,
};

/* Counts a launch or a wait of which nothing was reported; context: struct gpu_losses. */
void gpu_launches_count(void *losses, struct waiting_half *half);

/*
 * Another film begins at that time: moves what waits there, but for what will have no more kernels.
 */
void gpu_launches_next_film(const struct gpu_launches_to *to, uint64_t now);

#endif
