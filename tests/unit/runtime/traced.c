// SPDX-License-Identifier: Apache-2.0
#include "traced.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

/* CPU time of a thread so far, in ns; 0: it is gone. */
static uint64_t cpu_time(pid_t pid, pid_t tid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	fclose(file);
	return ns;
}

static size_t threads_of(pid_t pid, pid_t *tids)
{
	char path[64];
	struct dirent *entry;
	size_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) && count < TRACED_MAX)
		if (atoi(entry->d_name) > 0)
			tids[count++] = atoi(entry->d_name);
	if (folder)
		closedir(folder);
	return count;
}

pid_t traced_busiest(pid_t pid)
{
	const struct timespec while_ = {.tv_nsec = 200000000};
	pid_t tids[TRACED_MAX], best = pid;
	uint64_t before[TRACED_MAX], most = 0;
	size_t count = threads_of(pid, tids), i;

	for (i = 0; i < count; i++)
		before[i] = cpu_time(pid, tids[i]);
	nanosleep(&while_, NULL);
	for (i = 0; i < count; i++) {
		uint64_t now = cpu_time(pid, tids[i]);

		if (now <= before[i] || now - before[i] <= most)
			continue;
		most = now - before[i];
		best = tids[i];
	}
	return best;
}

static bool is_stopped(const struct traced *traced, pid_t tid)
{
	size_t i;

	for (i = 0; i < traced->count; i++)
		if (traced->stopped[i] == tid)
			return true;
	return false;
}

bool traced_stop(struct traced *traced, pid_t pid)
{
	pid_t tids[TRACED_MAX];
	size_t count, i;
	bool more;

	do {
		count = threads_of(pid, tids);
		more = false;
		for (i = 0; i < count && traced->count < TRACED_MAX; i++) {
			if (is_stopped(traced, tids[i]) ||
			    ptrace(PTRACE_SEIZE, tids[i], NULL, NULL))
				continue;
			if (ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL) ||
			    waitpid(tids[i], NULL, __WALL) != tids[i])
				return false;
			traced->stopped[traced->count++] = tids[i];
			more = true;
		}
	} while (more);
	return traced->count > 0;
}

void traced_let_go(struct traced *traced)
{
	while (traced->count)
		ptrace(PTRACE_DETACH, traced->stopped[--traced->count], NULL, NULL);
}

bool traced_registers(struct stored_thread *thread, pid_t tid)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &r))
		return false;
	*thread = (struct stored_thread){
		.registers = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9,
			      r.r10, r.r11, r.r12, r.r13, r.r14, r.r15},
		.pc = r.rip,
		.tls = r.fs_base,
	};
	return true;
}
