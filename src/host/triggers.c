// SPDX-License-Identifier: Apache-2.0
#include "host/triggers.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "sources/sched/oom_words.h"

/*
 * A process died of a signal, but not of one by which it is asked to end: nor of SIGPIPE, when the
 * reader of a pipe that it writes to has gone, as `head` does. At a socket that is a fault of
 * servers that forget to ignore it.
 */
static bool describe_death(const struct happening *happening, char *to, size_t size)
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

/* A thread waits for long, for what should not take long. */
static bool describe_hang(const struct happening *happening, char *to, size_t size)
{
	char process[64], thread[64], waited[32];

	text_make_safe(process, sizeof(process), happening->process);
	text_make_safe(thread, sizeof(thread), happening->thread);
	text_duration(waited, sizeof(waited), happening->waited);
	snprintf(to, size, "%s (%d) hangs: thread %s (%d) has waited for %s for %s", process,
		 (int)happening->pid, thread, (int)happening->tid, waited, happening->what);
	return true;
}

/* The queue of connections that a program has not accepted stays full. */
static bool describe_queue(const struct happening *happening, char *to, size_t size)
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

/* A process takes much more CPU than usual. */
static bool describe_cpu(const struct happening *happening, char *to, size_t size)
{
	char process[64];

	text_make_safe(process, sizeof(process), happening->process);
	snprintf(to, size,
		 "%s (%d) takes %" PRIu32 ".%02" PRIu32 " CPUs, and usually %" PRIu32 ".%02" PRIu32,
		 process, (int)happening->pid, happening->percent / 100, happening->percent % 100,
		 happening->usual / 100, happening->usual % 100);
	return true;
}

/* Threads of the machine wait for memory, or for disks, much more than usual. */
static bool describe_pressure(const struct happening *happening, char *to, size_t size)
{
	snprintf(to, size,
		 "threads of the machine wait for %s %" PRIu32
		 " %% of the time, and usually %" PRIu32 " %%",
		 happening->what, happening->percent, happening->usual);
	return true;
}

/* A request took long, also one that is not over, or failed. */
static bool describe_request(const struct happening *happening, char *to, size_t size)
{
	char process[64], endpoint[128], id[96], took[32], usual[32], more[96] = "",
								      status[32] = "";

	text_make_safe(process, sizeof(process), happening->process);
	text_make_safe(endpoint, sizeof(endpoint), happening->endpoint);
	text_make_safe(id, sizeof(id), happening->id);
	text_duration(took, sizeof(took), happening->waited);
	text_duration(usual, sizeof(usual), happening->usual_ns);
	if (happening->has_failed && happening->status)
		snprintf(status, sizeof(status), " with status %u", happening->status);
	if (happening->usual_ns)
		snprintf(more, sizeof(more), ", 99 of 100 take less than %s", usual);
	if (happening->is_open) {
		snprintf(to, size, "%s (%d): %s%s%s has taken %s and is not over%s", process,
			 (int)happening->pid, endpoint, *id ? ", id " : "", id, took, more);
		return true;
	}
	snprintf(to, size, "%s (%d): %s%s%s%s%s%s%s%s", process, (int)happening->pid, endpoint,
		 *id ? ", id " : "", id, happening->has_failed ? ", failed" : "", status,
		 happening->has_failed ? " after " : " took ", took, more);
	return true;
}

static const struct trigger triggers[] = {
	{HAPPENING_DEATH, 10 * SECOND_NS, describe_death},
	{HAPPENING_HANG, 120 * SECOND_NS, describe_hang},
	{HAPPENING_QUEUE, 120 * SECOND_NS, describe_queue},
	{HAPPENING_CPU, 120 * SECOND_NS, describe_cpu},
	{HAPPENING_PRESSURE, 120 * SECOND_NS, describe_pressure},
	{HAPPENING_REQUEST, 120 * SECOND_NS, describe_request},
};

const struct trigger *trigger_of(const struct happening *happening, char *words, size_t size)
{
	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++)
		if (triggers[i].kind == happening->kind &&
		    triggers[i].words(happening, words, size))
			return &triggers[i];
	return NULL;
}
