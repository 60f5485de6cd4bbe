/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_RECORD_H
#define BPF_INSPECT_RECORD_H

/*
 * What is around the steps of a plan: the registers that they begin with, and the record that
 * leaves. The map is weak: inspect takes arguments and results by its plans, the tracer the results
 * of its calls (calls/results.h).
 */
#include "bpf/inspect/run.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct inspect_plan);
} inspect_plans SEC(".maps") __weak;

static __always_inline void read_registers(struct inspect_scratch *s,
					   const struct inspect_plan *plan,
					   const struct probe_regs *regs)
{
	__u64 *r = (__u64 *)s->bytes;

	regs_by_dwarf(regs, r);
	r[ARCH_REG_FP] = REGS_FP(regs);
	r[ARCH_REG_SP] = regs->sp;
	r[INSPECT_RESULT] = REGS_RESULT_AT(regs);
	r[INSPECT_IP] = regs->ip;
	r[INSPECT_CFA] = r[plan->cfa_register & 15] + (__s64)plan->cfa_offset;
	s->used = INSPECT_REGISTER_BYTES;
}

/* Whose it is is read of the task: each question to the kernel is a call. */
static __always_inline void fill_record(struct inspect_record *record,
					const struct task_struct *task, __u64 now, bool undecided)
{
	struct capture_identity *identity = &record->identity;
	const __u64 *comm = (const __u64 *)task->comm;

	record->head.kind = CAPTURE_INSPECT;
	record->head.time = now;
	identity->pid = task->tgid;
	identity->tid = task->pid;
	identity->thread_start = task->start_time;
	identity->exec_id = (__u32)task->self_exec_id;
	identity->undecided = undecided;
	identity->value = 0;
	identity->key = 0;
	((__u64 *)identity->comm)[0] = comm[0];
	((__u64 *)identity->comm)[1] = comm[1];
}

/*
 * User space is woken at most once in that time, for it costs several times what a record does.
 * What comes meanwhile it finds with the next one, or when it looks by itself.
 */
#define INSPECT_WAKE_NS 2000000ull

static __always_inline void send(struct inspect_scratch *s)
{
	struct inspect_record *record = &s->record;
	__u64 wake = BPF_RB_NO_WAKEUP;
	void *ring = capture_ring();
	__u32 size = s->used;

	if (!ring) {
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_NO_RING);
		return;
	}
	if (size > INSPECT_BYTES_MAX)
		size = INSPECT_BYTES_MAX;
	size += sizeof(*record);
	record->head.size = size;
	if (record->head.time - s->woken_at > INSPECT_WAKE_NS) {
		s->woken_at = record->head.time;
		wake = BPF_RB_FORCE_WAKEUP;
	}
	if (capture_output(ring, CAPTURE_SOURCE_INSPECT, record, size, wake))
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_RING_FULL);
}

#endif
