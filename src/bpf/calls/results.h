/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_RESULTS_H
#define BPF_CALLS_RESULTS_H

/*
 * trace --args: what calls return. The tracer sees the return of a call anyway, with the registers
 * as they are then: so the results cost no probe of their own. They are taken while the call is
 * still among the open ones, by a plan of inspect's for its function (inspect/abi.h).
 */

#include "bpf/calls/goroutines.h"
#include "bpf/calls/lanes.h"
#include "bpf/inspect/record.h"

/* Set before loading. */
const volatile bool calls_results;

/*
 * By number of the function: its plan for results, + 1; 0: it has none. Its size is set before
 * loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} calls_result_plans SEC(".maps");

/* A function returns, or jumps to another one. */
struct returning {
	struct probe_regs *regs;
	struct calls_thread *thread;
	__u64 now, sp;
	__u64 frame_at;	      /* the canonical frame address */
	__u32 function, site; /* of the probe's cookie; enum calls_site */
	__u32 leaves, is_go;  /* it jumps; it runs on a goroutine */
	__u32 number, depth;  /* of the open call that is looked at next */
};

/* Reads the results of one open call, of a function that has some. */
static __noinline int read_result(struct returning *r, const struct calls_frame *frame)
{
	__u32 function = frame->function, number;
	const __u32 *known = bpf_map_lookup_elem(&calls_result_plans, &function);
	const struct inspect_plan *plan;
	struct inspect_scratch *s;
	__u64 *registers;

	if (!known || !*known)
		return 0;
	number = *known - 1;
	plan = bpf_map_lookup_elem(&inspect_plans, &number);
	if (!plan || (plan->needs_result_at && !(frame->flags & FRAME_RESULT_AT)))
		return 0;
	s = claim();
	if (!s)
		return 0;
	read_registers(s, plan, r->regs);
	registers = (__u64 *)s->bytes;
	registers[INSPECT_CFA] = r->frame_at;
	registers[INSPECT_IP] = frame->ip;
	registers[INSPECT_RESULT] = frame->flags & FRAME_RESULT_AT ? frame->result_at : 0;
	if (!r->leaves)
		run_plan(s, plan);
	fill_record(&s->record, bpf_get_current_task_btf(), r->now, r->thread->state == THREAD_ASK);
	s->record.goroutine = 0;
	if (r->is_go && bpf_probe_read_user(&s->record.goroutine, sizeof(s->record.goroutine),
					    (const void *)(REGS_GO_G(r->regs) + plan->goid_at)))
		s->record.goroutine = 0;
	s->record.frame = frame->sp;
	s->record.start = frame->start;
	s->record.ip = frame->ip;
	s->record.plan = number;
	s->record.track = r->thread->track + r->thread->lane;
	s->record.depth = r->depth;
	s->record.end = r->leaves ? INSPECT_LEAVES : INSPECT_RETURNS;
	send(s);
	release(s);
	return 0;
}

/*
 * Does an open call end by this return? One that jumped to the function that returns does, if the
 * kernel was asked for its return; else its jump would have ended it, and it is left over.
 */
static __always_inline bool ends_here(const struct returning *r, const struct calls_frame *frame)
{
	if (frame->flags & (FRAME_INFERRED | FRAME_HIDDEN))
		return false;
	return frame->flags & FRAME_RETURN ||
	       (r->site == CALLS_SITE_RET && frame->function == r->function);
}

/* For bpf_loop(): looks at one open call, and goes on to the one that made it. */
static long return_step(__u32 i, void *context)
{
	struct returning *r = context;
	struct calls_frame *frame = frame_at(r->thread, r->number);

	if (!frame || frame->sp > r->sp)
		return 1;
	r->depth--;
	/* what is not kept has no use for results */
	if (frame->sp == r->sp && ends_here(r, frame) &&
	    (r->now - frame->start >= calls_shortest || calls_entries))
		read_result(r, frame);
	r->number = frame->below;
	return 0;
}

/*
 * Reads the results of the function that began at sp, and ends. cookie: of the exit. Apart, so that
 * other functions of the tracer have more of the stack of BPF programs.
 */
static __noinline int calls_read_results(struct probe_regs *regs, __u64 cookie, __u64 now, __u64 sp)
{
	struct goroutine_key key = {};
	struct returning r = {
		.regs = regs,
		.now = now,
		.sp = sp,
		.frame_at = sp + sizeof(__u64),
		.function = COOKIE_FUNCTION(cookie),
		.site = COOKIE_SITE(cookie),
		.leaves = !!(COOKIE_FLAGS(cookie) & CALLS_FUNCTION_LEAVES),
		.is_go = !!(COOKIE_FLAGS(cookie) & CALLS_FUNCTION_GO),
	};
	struct calls_lane *lane;
	__u64 end;

	if (r.is_go) {
		key = goroutine_key(REGS_GO_G(regs));
		r.thread = bpf_map_lookup_elem(&calls_goroutines, &key);
		r.sp = goroutine_sp(REGS_GO_G(regs), sp, &end);
	} else {
		r.thread =
			bpf_task_storage_get(&calls_threads, bpf_get_current_task_btf(), NULL, 0);
		if (r.thread)
			on_lane(r.thread, sp);
	}
	if (!r.thread || !r.sp)
		return 0;
	lane = lane_now(r.thread);
	r.number = lane->top;
	r.depth = lane->depth;
	bpf_loop(CALLS_FRAMES_MAX, return_step, &r, 0);
	return 0;
}

#endif
