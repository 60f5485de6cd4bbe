// SPDX-License-Identifier: Apache-2.0
#include "host/cpu_jumps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "host/say.h"
#include "host/usual.h"
#include "process/procfs.h"

enum {
	LOOKS_LISTED = 5,     /* from one list of the machine's processes to the next */
	PROCESSES_MAX = 4096, /* further ones are not looked at */
};

struct process {
	pid_t pid;
	uint64_t start_ticks, ticks;
	uint64_t at; /* ns of the last look */
	struct usual usual;
};

struct cpu_jumps {
	const struct selection *programs;
	uint32_t more;
	unsigned int looks;
	vec(struct process) processes; /* by pid */
	vec(struct process) listed;
	bool is_full, said_full; /* of the last list */
	int failed;
};

struct cpu_jumps *cpu_jumps_new(const struct selection *programs, uint32_t more)
{
	struct cpu_jumps *jumps = calloc(1, sizeof(*jumps));

	if (jumps) {
		jumps->programs = programs;
		jumps->more = more;
	}
	return jumps;
}

void cpu_jumps_free(struct cpu_jumps *jumps)
{
	if (!jumps)
		return;
	vec_free(&jumps->processes);
	vec_free(&jumps->listed);
	free(jumps);
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void list(void *context, pid_t pid)
{
	struct cpu_jumps *jumps = context;
	struct process process = {.pid = pid}, *known = NULL;

	if (jumps->failed || !selection_means(jumps->programs, pid))
		return;
	if (jumps->listed.count == PROCESSES_MAX) {
		jumps->is_full = true;
		return;
	}
	if (jumps->processes.count)
		known = bsearch(&process, jumps->processes.at, jumps->processes.count,
				sizeof(process), by_pid);
	if (!vec_push(&jumps->listed, known ? *known : process))
		jumps->failed = -ENOMEM;
}

static int list_all(struct cpu_jumps *jumps)
{
	int err;

	jumps->failed = 0;
	jumps->listed.count = 0;
	jumps->is_full = false;
	err = procfs_each_number("/proc", list, jumps);
	err = err ? err : jumps->failed;
	if (err)
		return err;
	if (jumps->is_full && !jumps->said_full)
		host_say("watches the CPU of only %d of the filmed processes", PROCESSES_MAX);
	jumps->said_full = jumps->is_full;
	if (jumps->listed.count)
		qsort(jumps->listed.at, jumps->listed.count, sizeof(*jumps->listed.at), by_pid);
	jumps->processes.count = 0;
	vec_foreach (&jumps->listed, process)
		if (!vec_push(&jumps->processes, *process))
			return -ENOMEM;
	return 0;
}

static void look_at(struct process *process, uint64_t now, uint32_t more,
		    const struct happening_listener *listener)
{
	struct procfs_stat stat;
	double percent, usual = process->usual.percent;
	struct happening happening = {.kind = HAPPENING_CPU, .time = now};

	if (!procfs_read_stat(process->pid, "stat", &stat))
		return; /* it has ended: the next list does not have it */
	if (process->start_ticks != stat.start_ticks || stat.cpu_ticks < process->ticks ||
	    now <= process->at) {
		*process = (struct process){process->pid, stat.start_ticks, stat.cpu_ticks, now};
		return;
	}
	percent = (double)(stat.cpu_ticks - process->ticks) / (double)sysconf(_SC_CLK_TCK) * 1e11 /
		  (double)(now - process->at);
	process->ticks = stat.cpu_ticks;
	process->at = now;
	if (!usual_jumps(&process->usual, percent, more))
		return;
	happening.pid = happening.tid = process->pid;
	happening.percent = (uint32_t)percent;
	happening.usual = (uint32_t)usual;
	snprintf(happening.process, sizeof(happening.process), "%s", stat.comm);
	listener->happened(listener->context, &happening);
}

int cpu_jumps_look(struct cpu_jumps *jumps, uint64_t now, const struct happening_listener *listener,
		   struct fail *why)
{
	int err = jumps->looks++ % LOOKS_LISTED ? 0 : list_all(jumps);

	if (err)
		return fail_errno(why, err, NULL, "cannot look for processes that take more CPU");
	vec_foreach (&jumps->processes, process)
		look_at(process, now, jumps->more, listener);
	return 0;
}
