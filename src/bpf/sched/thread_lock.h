/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_THREAD_LOCK_H
#define BPF_SCHED_THREAD_LOCK_H

/*
 * The lock that a thread may wait for, read once for all events. Only a switch of a thread that
 * waits in futex(2), or for the lock of a file, pays for that.
 */
#include "bpf/sched/lock.h"
#include "bpf/sched/object.h"
#include "bpf/sched/restarted.h"
#include "bpf/sched/thread.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lock_short);
} sched_lock_short SEC(".maps");

static __always_inline void lock_count_short(__u64 time)
{
	__u32 zero = 0;
	struct lock_short *sum = bpf_map_lookup_elem(&sched_lock_short, &zero);

	if (!sum)
		return;
	sum->count++;
	sum->time += time;
}

/*
 * The current thread's. Not static, so that the verifier looks at it once, and not once for each
 * way that leads here.
 */
__weak __noinline int lock_read_current(struct lock_evidence *evidence)
{
	if (!evidence)
		return 0;
	lock_read(bpf_get_current_task_btf(), evidence);
	return 0;
}

/* The system call that the current thread is in, with these registers; below 0: none. */
static __always_inline __s64 call_of(struct task_struct *task, const struct pt_regs___call *regs)
{
	__s64 call = REGS_CALL(regs);

	return call == SYSCALL_RESTART ? restarted_of(task, regs) : call;
}

/*
 * The current thread begins to wait in a system call. Notes whether there is evidence of a lock, of
 * a futex or of a file; for the latter, file_lock.h has found out what the thread asked for.
 */
static __always_inline void lock_begin(struct task_struct *task, struct sched_thread *thread,
				       const struct pt_regs___call *regs, __s64 call)
{
	struct lock_evidence *evidence = &thread->lock;

	if (!(thread->state & OFF_CPU_STATE_SLEEPS))
		return;
	if (call == SYSCALL_FUTEX && lock_futex_waits(REGS_CALL_ARG2(regs))) {
		evidence->address = REGS_CALL_ARG1(regs);
		evidence->operation = REGS_CALL_ARG2(regs);
		evidence->expected = REGS_CALL_ARG3(regs);
		lock_read_current(evidence);
		thread->has_lock = true;
	} else if (file_lock_call(call)) {
		thread->has_lock = file_lock_is_waited_for(task, evidence);
	}
}

/* -- of files ---------------------------------------------------------------------------------- */

/*
 * The file that the lock is of, as an object with a number. Not static, so that the verifier looks
 * at it once.
 */
__weak __noinline int lock_file_object(__u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return object_of(task, (void *)address, descriptor_of_file(address), ~0u, SCHED_OBJECT);
}

static __always_inline int lock_of_file(void *ctx)
{
	const struct file_lock_args told = file_lock_args(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct sched_thread *thread = sched_find(task);
	__u64 file;

	if (told.result == FILE_LOCK_DEFERRED)
		thread = sched_selected(task, true, bpf_ktime_get_ns());
	if (!thread)
		return 0;
	file = file_lock_asked(&told, &thread->lock);
	/* the path of a slice is that of the call's descriptor, which its switch reports */
	if (file && sched_waits)
		thread->lock.file_object = lock_file_object(file);
	return 0;
}

SEC("tp_btf/flock_lock_inode")
int sched_flock(void *ctx)
{
	return lock_of_file(ctx);
}

SEC("tp_btf/posix_lock_inode")
int sched_record_lock(void *ctx)
{
	return lock_of_file(ctx);
}

#endif
