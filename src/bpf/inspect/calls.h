/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_CALLS_H
#define BPF_INSPECT_CALLS_H

/*
 * Calls that have begun, for inspect.
 *
 * A call is known by its thread or goroutine and by where its frame lies: a goroutine changes
 * threads, and its stack is moved when it grows, so that there the distance from the stack's upper
 * end counts, which stays.
 */
#include "bpf/calls/kept.h"
#include "bpf/capture/capture.h"
#include "bpf/inspect/abi.h"

struct inspect_call {
	__u64 thread, frame;
	__u32 pid, function;
};

struct inspect_begin {
	__u64 time;
	__u64 result; /* INSPECT_RESULT */
	__u64 ip;     /* of the probe */
};

/* Calls whose end is waited for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, INSPECT_OPEN_MAX);
	__type(key, struct inspect_call);
	__type(value, struct inspect_begin);
} inspect_open SEC(".maps");

/* Whose call it is. False: that cannot be read. */
static __always_inline bool identify(const struct inspect_plan *plan,
				     const struct task_struct *task, const struct probe_regs *regs,
				     __u64 cfa, struct inspect_call *call)
{
	__u64 high;

	call->pid = task->tgid;
	call->function = plan->function;
	call->thread = task->pid;
	call->frame = cfa;
	if (!plan->is_go)
		return true;
	if (bpf_probe_read_user(&call->thread, sizeof(call->thread),
				(const void *)(REGS_GO_G(regs) + plan->goid_at)) ||
	    bpf_probe_read_user(&high, sizeof(high), (const void *)(REGS_GO_G(regs) + 8)))
		return false;
	call->frame = high - cfa;
	return true;
}

/* Notes that a call's end is waited for. */
static __always_inline void open_call(const struct inspect_call *call, __u64 now,
				      const struct probe_regs *regs)
{
	struct inspect_begin begin = {now, REGS_RESULT_AT(regs), regs->ip};

	if (bpf_map_update_elem(&inspect_open, call, &begin, BPF_ANY))
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_INSPECT_OPEN);
}

/* Fills *begin with that of the call that ends here. False: it is not kept. */
static __always_inline bool close_call(const struct inspect_call *call, struct inspect_begin *begin)
{
	struct inspect_begin *known = bpf_map_lookup_elem(&inspect_open, call);

	if (!known)
		return false;
	*begin = *known;
	bpf_map_delete_elem(&inspect_open, call);
	return true;
}

/*
 * The call that the tracer has just seen begin: it has the same frame, and is the innermost one. 0:
 * there is none, as not all calls are kept (--depth, --under).
 */
static __noinline int find_traced(const struct inspect_plan *plan, const struct inspect_call *call,
				  struct probe_regs *regs, struct inspect_record *record)
{
	struct goroutine_key key = goroutine_key(REGS_GO_G(regs));
	/* at a function's entry, the stack pointer is a word below the frame address */
	__u64 sp = plan->is_go ? GOROUTINE_STACK - (call->frame + 8) : call->frame - 8;
	struct calls_frame *top;
	struct calls_thread *t;

	t = plan->is_go ? bpf_map_lookup_elem(&calls_goroutines, &key)
			: bpf_task_storage_get(&calls_threads, bpf_get_current_task_btf(), NULL, 0);
	top = t ? frame_at(t, lane_now(t)->top) : NULL;
	if (!top || top->sp != sp || top->function != plan->traced)
		return 0;
	if (!(top->flags & FRAME_INFERRED)) {
		top->result_at = REGS_RESULT_AT(regs);
		top->flags |= FRAME_RESULT_AT;
	}
	record->start = top->start;
	record->track = t->track + t->lane;
	record->depth = lane_now(t)->depth - 1;
	return 1;
}

#endif
