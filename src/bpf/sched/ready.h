/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_READY_H
#define BPF_SCHED_READY_H

/*
 * What was ready lately on this CPU, by the file: a server with many connections is woken by
 * another one each time. Nothing of this nests: a task is woken with interrupts off.
 */
#include "bpf/sched/object_seen.h"

#define READY_SLOTS 256

struct ready_slot {
	struct object_seen seen;
	__u32 pid; /* whose descriptor it is */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, READY_SLOTS);
	__type(key, __u32);
	__type(value, struct ready_slot);
} ready_slots SEC(".maps") __weak;

/* The slot of a file of a task. */
static __always_inline struct ready_slot *ready_slot(struct task_struct *task, __u64 file)
{
	/* files lie 192 or 256 bytes apart */
	__u32 key = (file >> 6 ^ file >> 14) % READY_SLOTS;
	struct ready_slot *slot = bpf_map_lookup_elem(&ready_slots, &key);

	if (slot && slot->pid != (__u32)task->tgid) {
		slot->pid = task->tgid;
		slot->seen.file = 0;
	}
	return slot;
}

#endif
