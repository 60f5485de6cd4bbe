/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_CALLERS_H
#define BPF_CALLS_CALLERS_H

/*
 * The caller of the function that begins.
 *
 * An open call may have ended unseen: it has no exit probe, or an exception or longjmp() has left
 * it. What its caller, or the caller's caller, runs now may lie lower on the stack, behind
 * functions that are not traced, or in room that the caller has taken since. Two words of the stack
 * tell more than the stack pointer does:
 *
 *	the new call's return address	lies in the body of the function that made the call. No
 *					other can have made it, so that call is indeed open, and
 *					those within it have ended.
 *	an open call's return address	is another one than at its entry: its place is used by
 *					something else. The call has ended, and so have those within
 *					it.
 *
 * Where neither speaks, an open call that has an exit probe is taken for open. One without may be
 * open or not. It stays open, and the new call carries the mark that its caller is not known: it is
 * one of the open calls without an exit probe, or the first one that has one, or what that one
 * called without being traced.
 */

#include "bpf/calls/stack.h"

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

/* Set before loading: calls can be left out while others of the same function are kept. */
const volatile bool calls_may_skip;

/* An open call that was jumped to ends with the one that jumped, whose end a probe shows. */
static __always_inline bool ends_unseen(struct calls_thread *t, const struct calls_frame *frame)
{
	const struct calls_frame *below = frame_at(t, frame->below);

	return (frame->flags & (FRAME_INFERRED | FRAME_JOINED)) == FRAME_INFERRED &&
	       !(below && below->sp == frame->sp && !(below->flags & FRAME_INFERRED));
}

/* At most this many open calls are looked at; what lies further out is taken as it is. */
#define CALLERS_MAX 16

/* The return address of the call that began with this stack pointer; 0: it cannot be read. */
static __always_inline __u64 returns_from(__u64 sp)
{
	__u64 address;

	return bpf_probe_read_user(&address, sizeof(address), (const void *)sp) ? 0 : address;
}

/*
 * Is something else in the place of an open call's return address? A trampoline of the kernel is
 * not: this or another tool's probe asks for the return of the function that it jumped to.
 */
static __always_inline bool has_moved(const struct calls_thread *t, const struct calls_frame *frame)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = returns_from(frame->sp + t->sp_bias);

	return now && frame->returns_to && now != frame->returns_to &&
	       now != BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* Where the code of an open call begins, and its size; 0: it is not known. */
static __always_inline __u64 code_of(const struct calls_frame *frame, __u32 *size)
{
	__u32 function = frame->function;
	const struct calls_body *body = bpf_map_lookup_elem(&calls_bodies, &function);

	*size = body ? body->size : 0;
	return body ? frame->ip - body->slide : 0;
}

/* Was the call that returns there made by this open one? */
static __always_inline bool is_made_by(const struct calls_frame *frame, __u64 address)
{
	__u32 size;
	__u64 code = code_of(frame, &size);

	/* a call may be the last instruction of a function */
	return !(frame->flags & (FRAME_PARTLY | FRAME_JUMPED)) && address - 1 - code < size;
}

/*
 * Can it be that one with an exit probe has been left? Not if its function may have been called
 * again without being seen, by the one that begins now.
 */
static __always_inline bool may_be_left(const struct calls_thread *t)
{
	return !calls_may_skip && t->used < CALLS_FRAMES_MAX;
}

static __always_inline int finish_callers(struct calls_thread *t, __u64 ended, bool is_known)
{
	if (ended)
		calls_pop_up_to(t, ended, bpf_ktime_get_ns(), CALLS_INFERRED);
	return is_known;
}

/*
 * A call begins that returns to that address: ends those that have ended before. Returns
 * whether it is known what has made the call.
 */
__noinline int calls_find_caller(struct calls_thread *t, __u64 address)
{
	bool is_known = true, is_open = false; /* open: a call with an exit probe was passed */
	struct calls_frame *frame;
	__u64 ended = 0;
	__u32 i;

	if (!t)
		return 0;
	frame = frame_at(t, lane_now(t)->top);
	for (i = 0; i < CALLERS_MAX; i++) {
		if (!frame || is_made_by(frame, address))
			break;
		if (!ends_unseen(t, frame) && !may_be_left(t))
			return finish_callers(t, ended, is_known);
		if (!is_open && has_moved(t, frame)) {
			ended = frame->sp;
			is_known = true;
		} else if (!ends_unseen(t, frame)) {
			is_open = true;
		} else if (!is_open) {
			is_known = false;
		}
		frame = frame_at(t, frame->below);
	}
	/* what lies within the one that has made the call has ended, with anything on the stack */
	if (i && i < CALLERS_MAX && frame) {
		ended = frame->sp - 1;
		is_known = true;
	}
	return finish_callers(t, ended, is_known);
}

/* What is on the stack where a call of a fixed function ends: e8, and the distance from there. */
#define DIRECT_CALL	  0xe8
#define DIRECT_CALL_BYTES 5

/* Is what returns there called by an instruction that always calls the function of that frame? */
static __noinline int is_only_called(const struct calls_frame *frame, __u64 address)
{
	__u8 call[DIRECT_CALL_BYTES];
	__u32 size;
	__s32 distance;

	if (bpf_probe_read_user(call, sizeof(call), (const void *)(address - sizeof(call))))
		return 0;
	__builtin_memcpy(&distance, call + 1, sizeof(distance));
	return call[0] == DIRECT_CALL && address + distance == code_of(frame, &size);
}

#endif
