// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/pipe_ends.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "process/procfs.h"

/* Descriptors of all processes that are looked at: reading what a link says takes about 2 us. */
#define DESCRIPTORS_MAX 262144

/* Which ends of a pipe a descriptor is. */
enum end {
	END_READS = 1,
	END_WRITES = 2,
};

/* The number of the pipe that a descriptor is of, and *which ends; 0: it is of no pipe. */
static uint64_t pipe_of(pid_t pid, uint32_t fd, unsigned int *which)
{
	static const char before[] = "pipe:[";
	char name[32], path[64], target[64], *close;
	struct stat link;
	uint64_t number;

	snprintf(name, sizeof(name), "fd/%u", fd);
	if (!procfs_link(pid, name, target, sizeof(target)) ||
	    strncmp(target, before, strlen(before)) != 0 || !(close = strchr(target, ']')))
		return 0;
	*close = 0;
	if (text_parse_u64(target + strlen(before), 1, UINT64_MAX, &number))
		return 0;
	/* proc(5): the link's own permissions say how the file was opened */
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if (lstat(path, &link))
		return 0;
	*which = (link.st_mode & S_IRUSR ? END_READS : 0u) |
		 (link.st_mode & S_IWUSR ? END_WRITES : 0u);
	return number;
}

struct reading {
	struct pipe_ends *ends;
	pid_t pid;
};

/* In the place of the second process: there are more. */
#define MORE UINT32_MAX

static uint32_t first_of(uint64_t has)
{
	return (uint32_t)has;
}

static uint32_t second_of(uint64_t has)
{
	return (uint32_t)(has >> 32);
}

static void learn(struct pipe_ends *ends, struct map *of, uint64_t number, pid_t pid)
{
	const uint64_t *known = map_get(of, number);
	uint32_t own = (uint32_t)pid;
	uint64_t has = known ? *known : own;

	if (first_of(has) != own && second_of(has) != own)
		has = first_of(has) | (uint64_t)(second_of(has) ? MORE : own) << 32;
	if (!map_put(of, number, has))
		ends->is_cut = true;
}

/* The other one of at most two processes that have an end; 0: there is none, or several are. */
static pid_t other_of(uint64_t has, pid_t pid)
{
	if (second_of(has) == MORE)
		return 0;
	if (first_of(has) == (uint32_t)pid)
		return (pid_t)second_of(has);
	return second_of(has) && second_of(has) != (uint32_t)pid ? 0 : (pid_t)first_of(has);
}

static void take_descriptor(void *context, pid_t fd)
{
	const struct reading *reading = context;
	struct pipe_ends *ends = reading->ends;
	unsigned int which;
	uint64_t number;

	if (ends->looked_at >= DESCRIPTORS_MAX) {
		ends->is_cut = true;
		return;
	}
	ends->looked_at++;
	number = pipe_of(reading->pid, (uint32_t)fd, &which);
	if (number && which & END_READS)
		learn(ends, &ends->readers, number, reading->pid);
	if (number && which & END_WRITES)
		learn(ends, &ends->writers, number, reading->pid);
}

static void take_process(void *context, pid_t pid)
{
	struct reading reading = {context, pid};
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	take_descriptor(&reading, 0); /* which is not among the numbers */
	/* one that has ended has none */
	(void)!procfs_each_number(path, take_descriptor, &reading);
}

pid_t pipe_ends_find(struct pipe_ends *ends, pid_t pid, const struct off_cpu_wait *wait)
{
	const uint64_t *has;
	unsigned int which;
	uint64_t number;

	if (wait->descriptor != OFF_CPU_FD_PIPE || !(wait->state & OFF_CPU_STATE_SLEEPS))
		return 0;
	number = pipe_of(pid, (uint32_t)wait->arguments[0], &which);
	if (!number || (which != END_READS && which != END_WRITES))
		return 0;
	if (!ends->is_read && procfs_each_number("/proc", take_process, ends))
		ends->is_cut = true;
	ends->is_read = true;
	has = map_get(which == END_READS ? &ends->writers : &ends->readers, number);
	return has && !ends->is_cut ? other_of(*has, pid) : 0;
}

void pipe_ends_free(struct pipe_ends *ends)
{
	map_free(&ends->readers);
	map_free(&ends->writers);
	*ends = (struct pipe_ends){0};
}
