// SPDX-License-Identifier: Apache-2.0
/* The queue of connections that a program has not accepted stays full. */
#include "host/triggers.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

bool trigger_queue(const struct happening *happening, char *to, size_t size)
{
	char process[64], full[32];

	text_make_safe(process, sizeof(process), happening->process);
	text_duration(full, sizeof(full), happening->waited);
	snprintf(to, size,
		 "the accept queue of %s (%d) at %s has been full for %s: %" PRIu32
		 " connections, and its backlog is %" PRIu32,
		 process, (int)happening->pid, happening->address_text, full, happening->queued,
		 happening->backlog);
	return true;
}
