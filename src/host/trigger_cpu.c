// SPDX-License-Identifier: Apache-2.0
/* A process takes much more CPU than usual. */
#include "host/triggers.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

bool trigger_cpu(const struct happening *happening, char *to, size_t size)
{
	char process[64];

	text_make_safe(process, sizeof(process), happening->process);
	snprintf(to, size,
		 "%s (%d) takes %" PRIu32 ".%02" PRIu32 " CPUs, and usually %" PRIu32 ".%02" PRIu32,
		 process, (int)happening->pid, happening->percent / 100, happening->percent % 100,
		 happening->usual / 100, happening->usual % 100);
	return true;
}
