// SPDX-License-Identifier: Apache-2.0
/*
 * A process died of a signal, but not of one by which it is asked to end: nor of SIGPIPE, when the
 * reader of a pipe that it writes to has gone, as `head` does. At a socket that is a fault of
 * servers that forget to ignore it.
 */
#include "host/triggers.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sources/sched/oom_words.h"

bool trigger_death(const struct happening *happening, char *to, size_t size)
{
	char process[64], thread[64], signal_name[32], more[320] = "";

	if (happening->signal == SIGTERM || happening->signal == SIGINT ||
	    happening->signal == SIGHUP || happening->of_pipe)
		return false;
	text_make_safe(process, sizeof(process), happening->process);
	text_make_safe(thread, sizeof(thread), happening->thread);
	text_signal(happening->signal, signal_name, sizeof(signal_name));
	if (happening->oom) {
		strcpy(more, ", ");
		oom_words(happening->oom, more + 2, sizeof(more) - 2);
	} else if (happening->has_address)
		snprintf(more, sizeof(more), " at 0x%" PRIx64 " in thread %s (%d)",
			 happening->address, thread, (int)happening->tid);
	else if (happening->is_own)
		snprintf(more, sizeof(more), " in thread %s (%d)", thread, (int)happening->tid);
	snprintf(to, size, "%s (%d) died of %s%s", process, (int)happening->pid, signal_name, more);
	return true;
}
