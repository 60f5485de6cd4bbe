// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/file_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "process/procfs.h"

#define LOCKS_MAX  (4u << 20)
#define FDINFO_MAX 16384

/* enum lock_of_file: what a system call waits for. */
static uint8_t kind_of(const struct off_cpu_wait *wait)
{
	if (wait->is_kernel_thread || !(wait->state & OFF_CPU_STATE_SLEEPS))
		return LOCK_OF_NO_FILE;
	if (wait->call == SYS_flock)
		return LOCK_OF_FILE;
	if (wait->call != SYS_fcntl)
		return LOCK_OF_NO_FILE;
	if (wait->arguments[1] == F_OFD_SETLKW)
		return LOCK_OF_OPEN_FILE;
	return wait->arguments[1] == F_SETLKW ? LOCK_OF_RECORDS : LOCK_OF_NO_FILE;
}

/* The number of a descriptor's inode; 0: not known. To ask the file itself could take long. */
static uint64_t inode_of(pid_t pid, uint32_t fd)
{
	struct buf text = {0};
	uint64_t inode = 0;
	char name[32];
	const char *line;

	snprintf(name, sizeof(name), "fdinfo/%u", fd);
	if (!procfs_read(pid, name, FDINFO_MAX, &text)) {
		line = strstr((const char *)text.at, "\nino:\t");
		inode = line ? strtoull(line + strlen("\nino:\t"), NULL, 10) : 0;
	}
	buf_free(&text);
	return inode;
}

/* A line: "1: -> POSIX  ADVISORY  WRITE 12 fe:00:34 0 EOF"; the arrow is of one that waits. */
struct lock_line {
	unsigned long long number, inode;
	int pid;
	bool waits;
};

static bool parse(const char *line, struct lock_line *to)
{
	int used = 0;

	if (sscanf(line, "%llu: %n", &to->number, &used) != 1 || !used)
		return false;
	line += used;
	to->waits = !strncmp(line, "->", 2);
	if (to->waits)
		line += 2;
	return sscanf(line, " %*s %*s %*s %d %*x:%*x:%llu", &to->pid, &to->inode) == 2;
}

pid_t file_lock_holder(char *locks, pid_t waiter, unsigned long long inode)
{
	struct lock_line line, held = {0};
	pid_t holder = 0;
	char *rest;

	/* those that wait stand behind the one that is held, with its number */
	for (char *at = strtok_r(locks, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
		if (!parse(at, &line))
			continue;
		if (!line.waits) {
			held = line;
			continue;
		}
		if (line.pid != waiter || line.inode != inode || line.number != held.number)
			continue;
		/* its threads may wait for parts of the file that are different ones' */
		if (holder && holder != held.pid)
			return 0;
		holder = held.pid;
	}
	return holder > 0 ? holder : 0;
}

bool file_lock_look(pid_t pid, const struct off_cpu_wait *wait, bool goes_on,
		    struct lock_evidence *evidence)
{
	struct buf text = {0};
	uint8_t kind = kind_of(wait);

	if (!kind)
		return false;
	*evidence = (struct lock_evidence){.of_file = kind};
	if (!goes_on)
		return true;
	evidence->address = inode_of(pid, (uint32_t)wait->arguments[0]);
	if (evidence->address && !procfs_read_file("/proc/locks", LOCKS_MAX, &text))
		evidence->file_owner =
			(uint32_t)file_lock_holder((char *)text.at, pid, evidence->address);
	buf_free(&text);
	return true;
}
