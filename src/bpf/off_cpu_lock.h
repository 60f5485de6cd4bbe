/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_OFF_CPU_LOCK_H
#define BPF_OFF_CPU_LOCK_H

/* What off_cpu.bpf.c keeps of the locks that threads wait for, and tells beside their waits. */

#define LOCK_RUNTIMES off_cpu_lock_runtimes
#include "lock.h"

/* Set before loading: nothing is read without. */
const volatile bool off_cpu_locks;

/* The last one of each thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lock_evidence);
} off_cpu_lock_evidence SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lock_short);
} off_cpu_lock_short SEC(".maps");

/* Neighbours in struct probe_regs. */
struct lock_registers {
	unsigned long dx, si, di, orig_ax;
};

/* The current thread begins to wait. Returns whether it is in a futex. */
static __always_inline bool lock_begin(struct task_struct *task)
{
	struct probe_regs *entry = (void *)bpf_task_pt_regs(task);
	struct lock_registers regs;
	struct lock_evidence *evidence;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), &entry->dx) || regs.orig_ax != SYSCALL_FUTEX)
		return false;
	if (!lock_futex_waits(regs.si))
		return false;
	evidence = bpf_task_storage_get(&off_cpu_lock_evidence, task, 0,
					BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!evidence)
		return false;
	evidence->address = regs.di;
	evidence->operation = regs.si;
	evidence->expected = regs.dx;
	lock_read(task, evidence);
	return true;
}

/* Copies it behind what is known of a wait. */
static __always_inline bool lock_tell(struct task_struct *task, struct lock_evidence *to)
{
	const struct lock_evidence *evidence =
		bpf_task_storage_get(&off_cpu_lock_evidence, task, 0, 0);

	if (!evidence)
		return false;
	__builtin_memcpy(to, evidence, sizeof(*to));
	return true;
}

static __always_inline void lock_count_short(__u64 time)
{
	__u32 zero = 0;
	struct lock_short *sum = bpf_map_lookup_elem(&off_cpu_lock_short, &zero);

	if (!sum)
		return;
	sum->count++;
	sum->time += time;
}

#endif
