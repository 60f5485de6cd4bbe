/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_FILE_LOCK_H
#define BPF_SCHED_FILE_LOCK_H

/*
 * Locks of files, those of flock(2) and of fcntl(2): fs/locks.c in the kernel. A tracepoint reports
 * that a thread has to wait for one, with the lock that is in its way. Nothing on its stack or in
 * its registers leads there, so that is kept until it goes out.
 *
 * File systems that have locks of their own, as those of the network, do without.
 */
#include "bpf/kernel.h"
#include "bpf/sched/lock_abi.h"

/* linux/filelock.h */
#define FILE_LOCK_DEFERRED 1 /* the thread waits now */
#define FILE_LOCK_POSIX	   0x0001
#define FILE_LOCK_OFD	   0x0400

/*
 * A lock that is waited for may be in the way of others: they wait behind it. At most this many
 * steps lead to the one that is held.
 */
#define FILE_LOCK_STEPS 16

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Since Linux 6.9 ... */
struct file_lock_core___since69 {
	struct file_lock_core___since69 *flc_blocker;
	unsigned int flc_flags;
	int flc_pid;
	void *flc_file;
};

struct file_lock___since69 {
	struct file_lock_core___since69 c;
};

/* ... and before */
struct file_lock___before69 {
	struct file_lock___before69 *fl_blocker;
	unsigned int fl_flags;
	unsigned int fl_pid;
	void *fl_file;
};

struct inode___file_lock {
	unsigned long i_ino;
};

#pragma clang attribute pop

/*
 * What a tracepoint is given. It is read as memory, so that the verifier sees numbers: of pointers
 * it would ask whether they are null.
 */
struct file_lock_args {
	__u64 inode, request;
	__s32 result, unused;
};

static __always_inline struct file_lock_args file_lock_args(void *ctx)
{
	struct file_lock_args told = {};

	bpf_probe_read_kernel(&told, sizeof(told), ctx);
	return told;
}

/* What of a lock counts here. */
struct file_lock_seen {
	__u64 blocker, file;
	__u32 flags, pid;
};

/* at: a struct file_lock, or what begins with it. False: this kernel's are not known. */
static __always_inline bool file_lock_look(__u64 at, struct file_lock_seen *seen)
{
	struct file_lock___since69 *since = (void *)at;
	struct file_lock___before69 *before = (void *)at;

	if (bpf_core_field_exists(since->c.flc_blocker)) {
		seen->blocker = (__u64)BPF_CORE_READ(since, c.flc_blocker);
		seen->file = (__u64)BPF_CORE_READ(since, c.flc_file);
		seen->flags = BPF_CORE_READ(since, c.flc_flags);
		seen->pid = BPF_CORE_READ(since, c.flc_pid);
		return true;
	}
	if (!bpf_core_field_exists(before->fl_blocker))
		return false;
	seen->blocker = (__u64)BPF_CORE_READ(before, fl_blocker);
	seen->file = (__u64)BPF_CORE_READ(before, fl_file);
	seen->flags = BPF_CORE_READ(before, fl_flags);
	seen->pid = BPF_CORE_READ(before, fl_pid);
	return true;
}

/* The process that holds what a request waits for; 0: not known, as of locks of open files. */
static __always_inline __u32 file_lock_owner(__u64 request)
{
	struct file_lock_seen seen;
	__u64 at = request;
	bool is_held = false;

	for (int i = 0; i < FILE_LOCK_STEPS && !is_held; i++) {
		if (!file_lock_look(at, &seen))
			return 0;
		is_held = !seen.blocker;
		if (!is_held)
			at = seen.blocker;
	}
	if (!is_held || at == request || (__s32)seen.pid <= 0)
		return 0;
	/* what was released meanwhile may have been another one's memory */
	if (!file_lock_look(request, &seen) || !seen.blocker)
		return 0;
	file_lock_look(at, &seen);
	return (__s32)seen.pid > 0 ? seen.pid : 0;
}

/*
 * The current thread has asked for a lock, and has it, or has to wait: then *evidence says for
 * what. Returns the file, if it waits; else 0. The evidence stays: of the wait that is over, the
 * stack may be taken later than this (sched_exit_tp is missing).
 */
static __always_inline __u64 file_lock_asked(const struct file_lock_args *told,
					     struct lock_evidence *evidence)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode___file_lock *inode = (void *)told->inode;
	struct file_lock_seen seen;

	evidence->file_wait = 0;
	if (told->result != FILE_LOCK_DEFERRED || !file_lock_look(told->request, &seen))
		return 0;
	evidence->address = BPF_CORE_READ(inode, i_ino);
	evidence->of_file = seen.flags & FILE_LOCK_OFD	   ? LOCK_OF_OPEN_FILE
			    : seen.flags & FILE_LOCK_POSIX ? LOCK_OF_RECORDS
							   : LOCK_OF_FILE;
	/* the thread's next one; of 2^32, one has no number */
	evidence->file_wait = task->nvcsw + 1;
	evidence->file_owner = file_lock_owner(told->request);
	evidence->file_object = 0;
	evidence->words_read = 0;
	evidence->runtime_lock = evidence->runtime_owner = evidence->runtime_thread = 0;
	return seen.file;
}

/*
 * Whether the current thread, which begins to wait in flock(2) or fcntl(2), does so for the lock
 * that it has asked for. When that wait is over, the thread asks again; or a signal ended it, which
 * no tracepoint tells, and a later call may wait for something else, as memory, or a lock of a file
 * system that has its own.
 */
static __always_inline bool file_lock_is_waited_for(struct task_struct *task,
						    const struct lock_evidence *evidence)
{
	/* the kernel has counted the wait that begins */
	return evidence->file_wait && evidence->file_wait == (__u32)task->nvcsw;
}

static __always_inline bool file_lock_call(__u64 call)
{
	return call == SYSCALL_FLOCK || call == SYSCALL_FCNTL;
}

/* Whether the current thread may release the lock of a file, by one of these calls or its end. */
static __always_inline bool file_lock_releases(struct task_struct *task, __u64 call)
{
	switch (call) {
	case SYSCALL_CLOSE:
	case SYSCALL_DUP2:
	case SYSCALL_EXECVE:
	case SYSCALL_EXIT:
	case SYSCALL_FCNTL:
	case SYSCALL_FLOCK:
	case SYSCALL_EXIT_GROUP:
	case SYSCALL_DUP3:
	case SYSCALL_EXECVEAT:
	case SYSCALL_CLOSE_RANGE:
		return true;
	default:
		return task->flags & PF_EXITING;
	}
}

#endif
