/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_LOSSES_H
#define SOURCES_GPU_LOSSES_H

#include <stdint.h>

#include "film/writer.h"
#include "sources/gpu/instructions.h"

/* What on-gpu could not record; counts of what each text in losses.c says. */
struct gpu_losses {
	uint64_t damaged, unnamed, no_profiler, taken, dropped, untimed, without_copies;
	uint64_t without_stack;
	/* of graphs */
	uint64_t without_capture, without_graphs, nodes_lost, nodes_unsampled;
	uint64_t without_process; /* of gpu-lanes */
	uint64_t without_kernel;  /* launches of processes that are gone, or of all at the end */
	uint64_t not_injected;
	uint64_t fewer_ms, over_budget_ms; /* of all processes together */
	/* of instructions */
	uint64_t not_sampled, not_read, samples_dropped, samples_of_driver, code_lost;
	uint64_t late; /* processes that got the library when they ran already */
	/* of waits */
	uint64_t waits_without_stack, without_waits;
	uint64_t without_end; /* as without_kernel */
};

/* Adds what the library says of itself: an enum gpu_state (inject/gpu_places.h), and its number. */
void gpu_losses_count_state(struct gpu_losses *losses, uint64_t state, uint64_t number);

/* Each writes those of one event. */
void gpu_losses_emit(const struct gpu_losses *losses, struct film_writer *film, uint32_t event);
void gpu_losses_emit_instructions(const struct gpu_losses *losses,
				  const struct gpu_instructions *instructions,
				  struct film_writer *film, uint32_t event);
void gpu_losses_emit_waits(const struct gpu_losses *losses, struct film_writer *film,
			   uint32_t event);

#endif
