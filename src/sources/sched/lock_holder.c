// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/lock_holder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "process/procfs.h"
#include "process/targets.h"

/* Processes that are remembered. */
#define PROCESSES_MAX 4096

/* Threads of one process whose numbers are read, and how often at most. */
#define THREADS_MAX   65536
#define READ_AGAIN_NS 100000000ull
#define STATUS_MAX    8192

/* A process starts its threads at times that are known only to a tick of 10 ms. */
#define TICK_NS 10000000ull

/* The numbers of a process's threads, in its own pid namespace. */
struct lock_numbers {
	struct map tids; /* number there: tid here */
	uint64_t read_at;
};

static void numbers_free(struct lock_numbers *numbers)
{
	if (numbers)
		map_free(&numbers->tids);
	free(numbers);
}

void lock_holders_free(struct lock_holders *holders)
{
	uint64_t pid, numbers;

	for (size_t i = 0; map_next(&holders->processes, &i, &pid, &numbers);)
		numbers_free((struct lock_numbers *)(uintptr_t)numbers);
	map_free(&holders->processes);
}

void lock_holders_forget(struct lock_holders *holders, pid_t pid)
{
	const uint64_t *known = map_get(&holders->processes, (uint64_t)pid);

	if (!known)
		return;
	numbers_free((struct lock_numbers *)(uintptr_t)*known);
	map_remove(&holders->processes, (uint64_t)pid);
}

/* The innermost number of the line "NSpid:"; 0: there is none. */
static uint32_t innermost_number(const char *status)
{
	const char *line = strstr(status, "\nNSpid:"), *end, *last;

	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	end = strchr(line, '\n');
	if (!end)
		return 0;
	for (last = end; last > line && last[-1] != '\t' && last[-1] != ' '; last--)
		;
	return (uint32_t)strtoul(last, NULL, 10);
}

static uint32_t number_of(pid_t pid, pid_t tid)
{
	struct buf text = {0};
	uint32_t number = 0;
	char name[40];

	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	if (!procfs_read(pid, name, STATUS_MAX, &text))
		number = innermost_number((const char *)text.at);
	buf_free(&text);
	return number;
}

struct reading {
	struct lock_numbers *numbers;
	pid_t pid;
};

static void add_thread(void *context, pid_t tid)
{
	const struct reading *reading = context;
	uint32_t number;

	if (reading->numbers->tids.count >= THREADS_MAX)
		return;
	number = number_of(reading->pid, tid);
	/* without memory it is not known, and no thread is taken for the holder */
	if (number)
		(void)!map_put(&reading->numbers->tids, number, (uint64_t)tid);
}

static void read_numbers(struct lock_numbers *numbers, pid_t pid)
{
	struct reading reading = {numbers, pid};
	char path[32];

	map_free(&numbers->tids);
	numbers->read_at = procfs_now();
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	(void)!procfs_each_number(path, add_thread, &reading);
}

/* *numbers: of a process in a pid namespace of its own, else null. False: it cannot be told. */
static bool numbers_of(struct lock_holders *holders, pid_t pid, struct lock_numbers **numbers)
{
	const uint64_t *known = map_get(&holders->processes, (uint64_t)pid);
	char here[64], there[64];

	*numbers = known ? (struct lock_numbers *)(uintptr_t)*known : NULL;
	if (known)
		return true;
	if (holders->processes.count >= PROCESSES_MAX)
		lock_holders_free(holders);
	if (!procfs_link(getpid(), "ns/pid", here, sizeof(here)) ||
	    !procfs_link(pid, "ns/pid", there, sizeof(there)))
		return false;
	if (strcmp(here, there)) {
		*numbers = calloc(1, sizeof(**numbers));
		if (!*numbers)
			return false;
	}
	if (map_put(&holders->processes, (uint64_t)pid, (uintptr_t)*numbers))
		return true;
	numbers_free(*numbers);
	return false;
}

/* The thread here that has that number there; 0: none. */
static pid_t translate(struct lock_numbers *numbers, pid_t pid, uint32_t number)
{
	const uint64_t *known = map_get(&numbers->tids, number);

	if (known && number_of(pid, (pid_t)*known) == number)
		return (pid_t)*known;
	if (procfs_now() - numbers->read_at < READ_AGAIN_NS)
		return 0;
	read_numbers(numbers, pid);
	known = map_get(&numbers->tids, number);
	return known ? (pid_t)*known : 0;
}

/* Whether a thread that was found was there when the wait began; its name. */
static bool was_there(struct lock_holders *holders, pid_t pid, uint64_t began,
		      struct lock_holder *holder)
{
	target_thread_of(pid, holder->tid, holder->comm, &holder->start);
	if (holder->start)
		/* one that was born later has the number of one that is gone */
		return holder->start <= began + TICK_NS;
	return samples_has_thread(holders->samples, pid, holder->tid, began, holder->comm);
}

bool lock_holder_find_process(struct lock_holders *holders, pid_t pid, uint64_t began,
			      struct lock_holder *holder)
{
	*holder = (struct lock_holder){.tid = pid};
	return pid > 0 && was_there(holders, pid, began, holder);
}

bool lock_holder_find(struct lock_holders *holders, pid_t pid, pid_t tid, uint32_t number,
		      uint64_t began, struct lock_holder *holder)
{
	struct lock_numbers *numbers;
	pid_t found = (pid_t)number;

	if (!number || number > INT_MAX)
		return false;
	if (!numbers_of(holders, pid, &numbers))
		return false;
	if (numbers)
		found = translate(numbers, pid, number);
	if (!found || found == tid)
		return false;
	holder->tid = found;
	return was_there(holders, pid, began, holder);
}
