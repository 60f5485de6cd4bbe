// SPDX-License-Identifier: Apache-2.0
/* A thread waits for long, for what should not take long. */
#include "host/triggers.h"

#include <stdio.h>

#include "base/text.h"

bool trigger_hang(const struct happening *happening, char *to, size_t size)
{
	char process[64], thread[64], waited[32];

	text_make_safe(process, sizeof(process), happening->process);
	text_make_safe(thread, sizeof(thread), happening->thread);
	text_duration(waited, sizeof(waited), happening->waited);
	snprintf(to, size, "%s (%d) hangs: thread %s (%d) has waited for %s for %s", process,
		 (int)happening->pid, thread, (int)happening->tid, waited, happening->what);
	return true;
}
