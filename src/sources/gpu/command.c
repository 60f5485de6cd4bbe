// SPDX-License-Identifier: Apache-2.0
/* What a command is started with whose GPU work is recorded. */
#include "sources/gpu/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../inject/gpu_places.h"
#include "sources/gpu/code.h"
#include "sources/memory/library.h"

static bool has_instructions(const struct source_settings *settings)
{
	return settings->events >> OF_INSTRUCTIONS & 1;
}

/*
 * The library opens the file by the recorder's own descriptor, in any process that the command
 * starts.
 */
static int hand_over_code(struct source_settings *settings, struct command_variable *variable,
			  struct fail *why)
{
	settings->descriptor = gpu_code_file();
	if (settings->descriptor < 0)
		return fail_errno(why, settings->descriptor, NULL, "cannot keep code of GPUs");
	*variable = (struct command_variable){.name = GPU_CODE_VARIABLE};
	snprintf(variable->value, sizeof(variable->value), "/proc/%d/fd/%d", (int)getpid(),
		 settings->descriptor);
	return 0;
}

int on_gpu_command(struct source_settings *settings, struct command_environment *environment,
		   struct fail *why)
{
	struct command_variable *variable = &environment->at[environment->count];
	const char *before = getenv(GPU_LIBRARY_VARIABLE);
	struct mem_library library;
	int err = mem_library_find(&library, GPU_LIBRARY, why);

	if (err)
		return err;
	if (before && *before)
		return fail(why, -EBUSY, "unset it", "%s is set already: another tool has the GPU",
			    GPU_LIBRARY_VARIABLE);
	environment->count++;
	*variable = (struct command_variable){.name = GPU_LIBRARY_VARIABLE};
	snprintf(variable->value, sizeof(variable->value), "%s", library.path);
	if (settings->values[ON_GPU_BUDGET]) {
		variable = &environment->at[environment->count++];
		*variable = (struct command_variable){.name = GPU_BUDGET_VARIABLE};
		snprintf(variable->value, sizeof(variable->value), "%u",
			 (unsigned int)settings->values[ON_GPU_BUDGET]);
	}
	if (settings->events >> OF_LANES & 1) {
		variable = &environment->at[environment->count++];
		*variable = (struct command_variable){.name = GPU_LANES_VARIABLE, .value = "1"};
	}
	if (!has_instructions(settings))
		return 0;
	return hand_over_code(settings, &environment->at[environment->count++], why);
}
