/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_CALLERS_H
#define BPF_CALLS_CALLERS_H

/*
 * The caller of the function that begins, where the innermost open calls have no exit probe.
 *
 * Such a call may have returned, and what its caller, or the caller's caller, runs now may lie
 * lower on the stack, behind functions that are not traced. Two words of the stack tell more than
 * the stack pointer does:
 *
 *	the new call's return address	lies in the body of the function that made the call. No
 *					other can have made it, so that call is indeed open, and
 *					those within it have ended.
 *	an open call's return address	is another one than at its entry: its place is used by
 *					something else. The call has ended, and so have those within
 *					it.
 *
 * Where neither speaks, the call may be open or not. It stays open, and the new call carries the
 * mark that its caller is not known: it is one of the open calls without an exit probe, or the
 * first one that has one, or what that one called without being traced.
 */

#include "calls_stack.h"

/*
 * By number of the function, CALLS_COST_FUNCTIONS and those of a plan; its size is set before
 * loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_body);
} calls_bodies SEC(".maps");

/* An open call that was jumped to ends with the one that jumped, whose end a probe shows. */
static __always_inline bool ends_unseen(struct calls_thread *t, const struct calls_frame *frame)
{
	const struct calls_frame *below = frame_at(t, frame->below);

	return frame->flags & FRAME_INFERRED &&
	       !(below && below->sp == frame->sp && !(below->flags & FRAME_INFERRED));
}

/*
 * At most this many open calls without an exit probe are looked at; what lies further out is taken
 * as it is.
 */
#define CALLERS_MAX 16

/* The return address of the call that began with this stack pointer; 0: it cannot be read. */
static __always_inline __u64 returns_to(const struct calls_thread *t, __u64 sp)
{
	__u64 address;

	if (bpf_probe_read_user(&address, sizeof(address), (const void *)(sp + t->sp_bias)))
		return 0;
	return address;
}

/*
 * Is something else in the place of an open call's return address? A trampoline of the kernel is
 * not: this or another tool's probe asks for the return of the function that it jumped to.
 */
static __always_inline bool has_moved(const struct calls_thread *t, const struct calls_frame *frame)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = returns_to(t, frame->sp);

	return now && frame->returns_to && now != frame->returns_to &&
	       now != BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* Was the call that returns there made by this open one? */
static __always_inline bool is_made_by(const struct calls_frame *frame, __u64 address)
{
	__u32 function = frame->function;
	const struct calls_body *body = bpf_map_lookup_elem(&calls_bodies, &function);

	/* a call may be the last instruction of a function */
	return body && address - 1 - (frame->ip - body->slide) < body->size;
}

/*
 * A call begins at sp, and the innermost open one has no exit probe: ends those that have ended
 * before. Returns whether it is known what has made the call.
 */
__noinline int calls_find_caller(struct calls_thread *t, __u64 sp)
{
	__u64 address, ended = 0;
	struct calls_frame *frame;
	bool is_known = true;
	__u32 i;

	if (!t)
		return 0;
	address = returns_to(t, sp);
	frame = frame_at(t, lane_now(t)->top);
	for (i = 0; i < CALLERS_MAX; i++) {
		if (!frame || !ends_unseen(t, frame) || is_made_by(frame, address))
			break;
		is_known = false;
		if (has_moved(t, frame)) {
			ended = frame->sp;
			is_known = true;
		}
		frame = frame_at(t, frame->below);
	}
	/* what lies within the one that has made the call has ended, with anything on the stack */
	if (i && frame && ends_unseen(t, frame) && is_made_by(frame, address)) {
		ended = frame->sp - 1;
		is_known = true;
	}
	if (ended)
		calls_pop_up_to(t, ended, bpf_ktime_get_ns(), CALLS_INFERRED);
	return is_known;
}

#endif
