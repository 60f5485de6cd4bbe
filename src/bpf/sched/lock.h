/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_LOCK_H
#define BPF_SCHED_LOCK_H

/*
 * The evidence of what lock a thread waits for, and who holds it. It is read when the wait begins,
 * in the thread itself: when it is over, the lock is another one's, or its own.
 */

#include "bpf/sched/file_lock.h"

/* By pid; user space tells of those that it has met. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct lock_runtime);
} sched_lock_runtimes SEC(".maps");

static __always_inline __u64 lock_read_pointer(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* Null, or 0: it cannot be read. */
static __always_inline __u64 lock_read_reference(const struct lock_park *park, __u64 address)
{
	__u32 narrow = 0;

	if (!park->is_narrow)
		return lock_read_pointer(address);
	bpf_probe_read_user(&narrow, sizeof(narrow), (void *)address);
	return narrow ? park->oop_base + ((__u64)narrow << (park->oop_shift & 31)) : 0;
}

/* How many collections of garbage there were; -1: one runs, or it cannot be read. */
static __always_inline __s64 lock_collections(const struct lock_park *park)
{
	__u32 count = 0;
	__u8 runs = 1;

	if (bpf_probe_read_user(&runs, sizeof(runs), (void *)park->runs) || runs ||
	    bpf_probe_read_user(&count, sizeof(count), (void *)park->collections))
		return -1;
	return count;
}

static __noinline void lock_read_park(const struct lock_park *park, __u64 thread,
				      struct lock_evidence *evidence)
{
	__s64 collections;
	__u64 object, owner, owner_os;
	__u32 narrow = 0;

	if (!park || !evidence)
		return;
	collections = lock_collections(park);
	if (collections < 0)
		return;
	object = lock_read_pointer(lock_read_pointer(thread + park->thread_object));
	object = object ? lock_read_reference(park, object + park->blocker) : 0;
	if (!object)
		return;
	evidence->park_object = object;
	if (park->is_class_narrow)
		bpf_probe_read_user(&narrow, sizeof(narrow), (void *)(object + park->class_at));
	evidence->park_class =
		park->is_class_narrow ? narrow : lock_read_pointer(object + park->class_at);
	object = lock_read_reference(park, object + park->owner);
	owner = object ? lock_read_pointer(object + park->structure) : 0;
	if (owner) {
		owner_os = lock_read_pointer(owner + park->os_thread);
		bpf_probe_read_user(&evidence->park_owner, sizeof(evidence->park_owner),
				    (void *)(owner_os + park->number));
		/* a thread that ends clears this before its structure is gone */
		if (lock_read_pointer(object + park->structure) != owner)
			evidence->park_owner = 0;
	}
	if (lock_collections(park) != collections)
		evidence->park_object = evidence->park_class = evidence->park_owner = 0;
}

/* Not inlined, so that a switch of what waits for something else has no registers to save. */
static __noinline void lock_read_runtime(struct task_struct *task, struct lock_evidence *evidence)
{
	__u32 pid = task->tgid;
	const struct lock_runtime *runtime = bpf_map_lookup_elem(&sched_lock_runtimes, &pid);
	__u64 thread;

	evidence->runtime_lock = evidence->runtime_owner = evidence->runtime_thread = 0;
	evidence->park_object = evidence->park_class = evidence->park_owner = 0;
	if (!runtime)
		return;
	if (!runtime->tls) {
		if (evidence->address - runtime->from >= runtime->to - runtime->from)
			return;
		evidence->runtime_lock = runtime->from;
		evidence->runtime_owner = lock_read_pointer(runtime->owner_at);
	} else {
		thread = lock_read_pointer(TASK_THREAD_POINTER(task) + runtime->tls);
		if (!thread)
			return;
		evidence->runtime_thread = thread;
		evidence->runtime_lock = lock_read_pointer(thread + runtime->pending);
		if (!evidence->runtime_lock) {
			if (runtime->park.is_known)
				lock_read_park(&runtime->park, thread, evidence);
			return;
		}
		evidence->runtime_owner =
			lock_read_pointer(evidence->runtime_lock + runtime->owner_at);
	}
	if (runtime->owner_thread && evidence->runtime_owner)
		evidence->runtime_owner =
			lock_read_pointer(evidence->runtime_owner + runtime->owner_thread);
}

/*
 * enum lock_released: what the current thread, which wakes another one, may have released by the
 * call that it is in. A signal, say, comes from elsewhere.
 */
static __always_inline __u8 lock_released(struct task_struct *task)
{
	struct probe_regs *entry = (void *)bpf_task_pt_regs(task);
	unsigned long call = 0;

	if (task->flags & PF_KTHREAD ||
	    bpf_probe_read_kernel(&call, sizeof(call), &REGS_CALL(entry)))
		return LOCK_RELEASED_NONE;
	if (call == SYSCALL_FUTEX)
		return LOCK_RELEASED_FUTEX;
	return file_lock_releases(task, call) ? LOCK_RELEASED_FILE : LOCK_RELEASED_NONE;
}

/*
 * Reads what the current thread waits for, which has called futex(2) with what evidence says of its
 * address, its operation and the value that it expected.
 */
static __always_inline void lock_read(struct task_struct *task, struct lock_evidence *evidence)
{
	void *at = (void *)evidence->address;

	evidence->of_file = LOCK_OF_NO_FILE;
	evidence->file_wait = 0;
	evidence->words_read = LOCK_WORDS;
	/* the beginning of a page may lie within, or its end */
	if (bpf_probe_read_user(&evidence->before, LOCK_READ_BYTES, at - LOCK_BEFORE_BYTES)) {
		evidence->before = 0;
		if (bpf_probe_read_user(evidence->words, sizeof(evidence->words), at))
			evidence->words_read =
				!bpf_probe_read_user(evidence->words, sizeof(__u32), at);
	}
	lock_read_runtime(task, evidence);
}

#endif
