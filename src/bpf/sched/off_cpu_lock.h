/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OFF_CPU_LOCK_H
#define BPF_SCHED_OFF_CPU_LOCK_H

/* What off_cpu.bpf.c keeps of the locks that threads wait for, and tells beside their waits. */

#define LOCK_RUNTIMES off_cpu_lock_runtimes
#include "bpf/filter.h"
#include "bpf/sched/lock.h"
#include "bpf/sched/object.h"
#include "bpf/sched/restarted.h"

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

/* -- of files ---------------------------------------------------------------------------------- */

/*
 * The file that the lock is of, as an object with a number. Not static, so that the verifier looks
 * at it once.
 */
__weak __noinline int off_cpu_file_object(__u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct___object *more = (void *)task;
	__u8 descriptor = descriptor_of_file(address);

	return object_number((__u64)BPF_CORE_READ(more, fs), address,
			     (__u64)descriptor << OBJECT_DESCRIPTOR_AT | ~0u, OFF_CPU_OBJECT,
			     task->tgid);
}

static __always_inline int file_lock_take(void *ctx)
{
	const struct file_lock_told told = file_lock_told(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct lock_evidence *evidence;
	__u64 file;

	if (told.result == FILE_LOCK_DEFERRED && filter_current() == FILTER_NO)
		return 0;
	evidence = bpf_task_storage_get(
		&off_cpu_lock_evidence, task, 0,
		told.result == FILE_LOCK_DEFERRED ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!evidence)
		return 0;
	file = file_lock_asked(&told, evidence);
	if (file)
		evidence->file_object = off_cpu_file_object(file);
	return 0;
}

SEC("tp_btf/flock_lock_inode")
int off_cpu_flock(void *ctx)
{
	return file_lock_take(ctx);
}

SEC("tp_btf/posix_lock_inode")
int off_cpu_record_lock(void *ctx)
{
	return file_lock_take(ctx);
}

/* The current thread waits in flock(2) or fcntl(2): is that for a lock that is known? */
static __always_inline bool file_lock_begins(struct task_struct *task)
{
	const struct lock_evidence *evidence =
		bpf_task_storage_get(&off_cpu_lock_evidence, task, 0, 0);

	return evidence && file_lock_is_waited_for(task, evidence);
}

/* -- all of them ------------------------------------------------------------------------------- */

/* The current thread begins to wait. Returns whether there is evidence of a lock. */
static __always_inline bool lock_begin(struct task_struct *task)
{
	struct probe_regs *entry = (void *)bpf_task_pt_regs(task);
	struct call_registers regs;
	struct lock_evidence *evidence;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), CALL_REGISTERS_OF(entry)))
		return false;
	if (REGS_CALL(&regs) == SYSCALL_RESTART)
		REGS_CALL(&regs) = restarted_of(task, entry);
	if (file_lock_call(REGS_CALL(&regs)))
		return file_lock_begins(task);
	if (REGS_CALL(&regs) != SYSCALL_FUTEX || !lock_futex_waits(REGS_CALL_ARG2(&regs)))
		return false;
	evidence = bpf_task_storage_get(&off_cpu_lock_evidence, task, 0,
					BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!evidence)
		return false;
	evidence->address = REGS_CALL_ARG1(&regs);
	evidence->operation = REGS_CALL_ARG2(&regs);
	evidence->expected = REGS_CALL_ARG3(&regs);
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
