/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_GPU_COMMAND_H
#define SOURCES_GPU_COMMAND_H

#include "sources/source.h"

/* on-gpu's options, in their order. */
enum {
	ON_GPU_BUDGET,
};

/* Its events, in the order of source_type.events. */
enum {
	OF_KERNELS,
	OF_INSTRUCTIONS,
	OF_COPIES,
	OF_WAITS,
	OF_LANES,
};

/* A source_type.command: has the driver load the library into the command, and sets that up. */
int on_gpu_command(struct source_settings *settings, struct command_environment *environment,
		   struct fail *why);

#endif
