// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/losses.h"

#include <stdio.h>

#include "../inject/gpu_places.h"
#include "base/saturated.h"
#include "sources/loss_counts.h"

void gpu_losses_count_state(struct gpu_losses *losses, uint64_t state, uint64_t number)
{
	/* each is one process or module; of the others, the number says how many */
	uint64_t *const ones[] = {
		[GPU_STATE_NO_PROFILER] = &losses->no_profiler,
		[GPU_STATE_TAKEN] = &losses->taken,
		[GPU_STATE_NO_COPIES] = &losses->without_copies,
		[GPU_STATE_NO_WAITS] = &losses->without_waits,
		[GPU_STATE_NO_GRAPHS] = &losses->without_graphs,
		[GPU_STATE_NOT_SAMPLED] = &losses->not_sampled,
		[GPU_STATE_NOT_READ] = &losses->not_read,
		[GPU_STATE_CODE_LOST] = &losses->code_lost,
	};
	uint64_t *const sums[] = {
		[GPU_STATE_DROPPED] = &losses->dropped,
		[GPU_STATE_UNTIMED] = &losses->untimed,
		[GPU_STATE_FEWER] = &losses->fewer_ms,
		[GPU_STATE_OVER_BUDGET] = &losses->over_budget_ms,
		[GPU_STATE_SAMPLES_DROPPED] = &losses->samples_dropped,
		[GPU_STATE_SAMPLES_OF_DRIVER] = &losses->samples_of_driver,
		[GPU_STATE_NODES_LOST] = &losses->nodes_lost,
		[GPU_STATE_NODES_UNSAMPLED] = &losses->nodes_unsampled,
	};

	if (state < sizeof(ones) / sizeof(ones[0]) && ones[state])
		*ones[state] = add_saturated(*ones[state], 1);
	if (state < sizeof(sums) / sizeof(sums[0]) && sums[state])
		*sums[state] = add_saturated(*sums[state], number);
}

void gpu_losses_emit(const struct gpu_losses *losses, struct film_writer *film, uint32_t event)
{
	const struct loss_count counts[] = {
		{"record of a kernel or copy lost: it is damaged", losses->damaged},
		{"stack of a kernel or copy not recorded: its launch is none of the samples",
		 losses->without_stack},
		{"place not known at which a kernel or copy of a graph was captured: it was before "
		 "the film, or there were too many",
		 losses->without_capture},
		{"places not known at which a process captured graphs: the profiling library "
		 "refuses, or is too old",
		 losses->without_graphs},
		{"node of a graph forgotten: there are too many", losses->nodes_lost},
		{"node of a graph not recorded: too many were captured at once",
		 losses->nodes_unsampled},
		{"name of a kernel not known: too many of them, or no memory", losses->unnamed},
		{"kernels or copies lost: the profiling library had no room for their records",
		 losses->dropped},
		{"kernels or copies lost: the profiling library does not know when they ran",
		 losses->untimed},
		{"kernels or copies not in gpu-lanes: their process is not known",
		 losses->without_process},
		{"copies of a process not seen: the profiling library refuses",
		 losses->without_copies},
		{"sampled launch without a kernel or copy: its record did not come by the end, or "
		 "the launch failed or was captured",
		 losses->without_kernel},
		{"kernels of a process not seen: it has no profiling library (libcupti.so)",
		 losses->no_profiler},
		{"kernels of a process not seen: another tool has the profiling library, or it "
		 "refuses",
		 losses->taken},
		{"kernels of processes not seen that stackcam has not started, and that -p does "
		 "not name",
		 losses->not_injected},
		{"milliseconds with fewer samples of launches, waits and instructions than usual, "
		 "to "
		 "keep --gpu-budget",
		 losses->fewer_ms},
		{"milliseconds in which --gpu-budget was not kept: the records of all kernels and "
		 "copies take more",
		 losses->over_budget_ms},
	};

	loss_counts_emit(film, event, counts, sizeof(counts) / sizeof(counts[0]));
}

void gpu_losses_emit_instructions(const struct gpu_losses *losses,
				  const struct gpu_instructions *instructions,
				  struct film_writer *film, uint32_t event)
{
	const struct gpu_code_losses code = instructions->code ? gpu_code_losses(instructions->code)
							       : (struct gpu_code_losses){0};
	char lines[640];
	const struct loss_count counts[] = {
		{"samples of instructions without a launch: none of their function was seen",
		 instructions->without_launch},
		{"samples of instructions lost: too many different ones", instructions->full},
		{"launch has no part of the samples of its function: too many of them",
		 instructions->launches_full},
		{"samples of instructions lost: the device or the profiling library dropped them",
		 losses->samples_dropped},
		{"samples of instructions not shown: of kernels that the driver itself ran",
		 losses->samples_of_driver},
		{"instructions of a context not sampled: the profiling library refuses",
		 losses->not_sampled},
		{"samples of a context not read: the profiling library refuses", losses->not_read},
		{"instructions of a process not sampled: it ran already as its recording began",
		 losses->late},
		{"code of a module not known: the process could not hand it over",
		 losses->code_lost},
		{"code of a module not known: it is damaged", code.damaged},
		{"code of a module not known: its architecture is older than sm_70", code.too_old},
		{"code of a module not known: no room for it", code.full},
		{"samples of instructions whose code is not known", code.unknown},
		{lines, code.without_lines},
	};

	snprintf(lines, sizeof(lines), "source lines of instructions not known: %s",
		 code.how ? code.how : "");
	loss_counts_emit(film, event, counts, sizeof(counts) / sizeof(counts[0]));
}

void gpu_losses_emit_waits(const struct gpu_losses *losses, struct film_writer *film,
			   uint32_t event)
{
	const struct loss_count counts[] = {
		{"stack of a wait not recorded: it is none of the samples",
		 losses->waits_without_stack},
		{"sampled wait not recorded: its record did not come by the end",
		 losses->without_end},
		{"waits of a process not seen: the profiling library refuses, or their records "
		 "could not be compared",
		 losses->without_waits},
	};

	loss_counts_emit(film, event, counts, sizeof(counts) / sizeof(counts[0]));
}
