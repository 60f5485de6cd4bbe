// SPDX-License-Identifier: Apache-2.0
#include "query/explain/children.h"

#include <string.h>

/* Whether a process lives at a time, as far as the film knows. */
static bool lives(const struct film_process *process, uint64_t time)
{
	return process->start < time && (!process->end || process->end >= time);
}

/* The only process that a wait may be for; 0: there is none, or there are several. */
static uint32_t child_of(const struct film *film, const struct history_slice *slice)
{
	const char *call = wait_call_name(film->info.arch, slice->state, slice->call);
	const struct film_process *own = &film->processes[film->threads[slice->thread].process];
	int32_t pid = !strcmp(call, "wait4") ? (int32_t)slice->address : -1;
	uint32_t found = 0;

	for (uint32_t id = 1; id < film->process_count; id++) {
		const struct film_process *process = &film->processes[id];

		if (process->parent != own->pid || !lives(process, slice->end) ||
		    (pid > 0 && process->pid != (uint32_t)pid))
			continue;
		/* what has executed another program stands there more than once */
		if (found && film->processes[found].pid != process->pid)
			return 0;
		found = id;
	}
	return found;
}

/* The thread by which a process is known; 0: the film has none that does anything. */
static uint32_t main_thread(const struct histories *histories, uint32_t process)
{
	const struct film *film = histories->film;

	for (uint32_t thread = 1; thread < film->thread_count; thread++)
		if (film->threads[thread].process == process &&
		    film->threads[thread].tid == film->processes[process].pid &&
		    histories->first[thread] < histories->first[thread + 1])
			return thread;
	return 0;
}

void explain_children_mark(struct histories *histories)
{
	for (size_t i = 0; i < histories->count; i++) {
		struct history_slice *slice = &histories->slices[i];
		uint32_t child;

		if (slice->kind != SLICE_WAIT + WAIT_CHILD || !(slice->flags & FILM_WAIT_OPEN))
			continue;
		child = child_of(histories->film, slice);
		slice->waker = child ? main_thread(histories, child) : 0;
		if (slice->waker)
			slice->flags |= HISTORY_HELD;
	}
}
