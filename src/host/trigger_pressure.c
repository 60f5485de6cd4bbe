// SPDX-License-Identifier: Apache-2.0
/* Threads of the machine wait for memory, or for disks, much more than usual. */
#include "host/triggers.h"

#include <inttypes.h>
#include <stdio.h>

bool trigger_pressure(const struct happening *happening, char *to, size_t size)
{
	snprintf(to, size,
		 "threads of the machine wait for %s %" PRIu32
		 " %% of the time, and usually %" PRIu32 " %%",
		 happening->what, happening->percent, happening->usual);
	return true;
}
