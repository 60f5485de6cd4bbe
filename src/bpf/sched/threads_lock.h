/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_THREADS_LOCK_H
#define BPF_SCHED_THREADS_LOCK_H

/*
 * What threads.bpf.c reads of the locks that threads wait for. Only a switch of a thread that waits
 * in futex(2), or for the lock of a file, pays for that, and it is reported with the stack of the
 * wait, so of long waits alone.
 */

#define LOCK_RUNTIMES threads_lock_runtimes
#include "bpf/sched/lock.h"
#include "bpf/sched/threads_abi.h"

/*
 * The current thread's. Not static, so that the verifier looks at it once, and not once for each
 * way that leads here.
 */
__weak __noinline int threads_read_lock(struct lock_evidence *evidence)
{
	if (!evidence)
		return 0;
	lock_read(bpf_get_current_task_btf(), evidence);
	return 0;
}

/*
 * The current thread begins to wait in futex(2): lock->evidence says for what. False: it does
 * something else there.
 */
static __always_inline bool lock_begin(struct threads_lock *lock, __u64 now)
{
	if (!lock_futex_waits(lock->evidence.operation))
		return false;
	lock->began = now;
	lock->is_released = 0;
	threads_read_lock(&lock->evidence);
	return true;
}

/* The same in flock(2) or fcntl(2), where file_lock.h has found out for what. */
static __always_inline bool lock_begin_of_file(struct threads_lock *lock, __u64 now)
{
	if (!file_lock_is_waited_for(bpf_get_current_task_btf(), &lock->evidence))
		return false;
	lock->began = now;
	lock->is_released = 0;
	return true;
}

/* Whether the current thread, which ends the wait, has released it, as far as its call shows. */
static __always_inline bool lock_is_released(const struct threads_lock *lock)
{
	__u8 released = lock_released(bpf_get_current_task_btf());

	return released == (lock->evidence.of_file ? LOCK_RELEASED_FILE : LOCK_RELEASED_FUTEX);
}

/* Copies it behind the frames of the wait's stack. Returns how many words that are. */
static __always_inline __u32 lock_put(struct capture_scratch *scratch,
				      const struct threads_lock *lock)
{
	_Static_assert(THREADS_LOCK_WORDS <= CAPTURE_BEHIND_WORDS, "a lock's words");
	__builtin_memcpy(scratch->behind, lock, sizeof(*lock));
	return THREADS_LOCK_WORDS;
}

#endif
