// SPDX-License-Identifier: Apache-2.0
#include "attach/breakpoints.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"
#include "process/procfs.h"

/*
 * Threads that are made by ones that have their breakpoints inherit them; those that are made by
 * others meanwhile are found by another look.
 */
#define LOOKS_MAX 16

struct adding {
	struct breakpoints *to;
	pid_t pid;
	int program;
	const uint64_t *addresses;
	size_t count;
	struct map known; /* threads that have them */
	size_t added;	  /* threads, in this look */
	int err;
};

static struct perf_event_attr breakpoint_at(uint64_t address)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

/* tid 0: the calling thread. Returns a descriptor that the caller closes, or a negative errno. */
static int open_breakpoint(struct perf_event_attr *attr, pid_t tid)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Where the breakpoint of a trial is. */
static __attribute__((noinline)) void execute_trial(void)
{
	__asm__ volatile("");
}

int breakpoints_try(struct fail *why)
{
	struct perf_event_attr attr = breakpoint_at((uintptr_t)execute_trial);
	int fd = open_breakpoint(&attr, 0);
	uint64_t hits = 0;
	bool is_read;

	if (fd < 0)
		return fail_errno(why, fd, NULL, "cannot set a breakpoint of the CPU");
	execute_trial();
	is_read = read(fd, &hits, sizeof(hits)) == sizeof(hits);
	close(fd);
	if (is_read && hits)
		return 0;
	return fail(why, -EOPNOTSUPP,
		    "record on a machine whose hypervisor emulates the debug registers",
		    "breakpoints of the CPU can be set here, and are never hit");
}

static int add(struct adding *a, pid_t tid, uint64_t address)
{
	struct perf_event_attr attr = breakpoint_at(address);
	int fd, err;

	attr.disabled = attr.inherit = attr.inherit_thread = attr.remove_on_exec = 1;
	fd = open_breakpoint(&attr, tid);

	if (fd < 0)
		return fd;
	if (!vec_push(&a->to->all, (struct breakpoint){a->pid, fd})) {
		close(fd);
		return -ENOMEM;
	}
	err = ioctl(fd, PERF_EVENT_IOC_SET_BPF, a->program) ? -errno : 0;
	if (!err && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err;
}

static void add_thread(void *context, pid_t tid)
{
	struct adding *a = context;

	if (a->err || map_get(&a->known, (uint64_t)tid))
		return;
	if (!map_put(&a->known, (uint64_t)tid, 1)) {
		a->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; !a->err && i < a->count; i++)
		a->err = add(a, tid, a->addresses[i]);
	/* it has ended meanwhile */
	if (a->err == -ESRCH)
		a->err = 0;
	a->added++;
}

int breakpoints_add(struct breakpoints *breakpoints, pid_t pid, int program,
		    const uint64_t *addresses, size_t count, struct fail *why)
{
	struct adding a = {breakpoints, pid, program, addresses, count, .added = 1};
	char path[64];
	int err = breakpoints_try(why);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	for (unsigned int look = 0; look < LOOKS_MAX && !err && !a.err && a.added; look++) {
		a.added = 0;
		err = procfs_each_number(path, add_thread, &a);
	}
	if (!err)
		err = a.err;
	map_free(&a.known);
	if (!err)
		return 0;
	breakpoints_remove(breakpoints, pid);
	if (err == -ENOENT || err == -ESRCH)
		return -ESRCH;
	return fail_errno(why, err, NULL, "cannot set breakpoints");
}

void breakpoints_remove(struct breakpoints *breakpoints, pid_t pid)
{
	size_t kept = 0;

	vec_foreach (&breakpoints->all, one) {
		if (pid && one->pid != pid)
			breakpoints->all.at[kept++] = *one;
		else
			close(one->fd);
	}
	breakpoints->all.count = kept;
}

void breakpoints_free(struct breakpoints *breakpoints)
{
	breakpoints_remove(breakpoints, 0);
	vec_free(&breakpoints->all);
}
