/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_STACK_H
#define BPF_CALLS_STACK_H

/* The end of calls: frames are taken off a thread's stacks, as records or sums. */

#include "bpf/calls/thread.h"

const volatile __u64 calls_shortest; /* ns; shorter calls are not kept; set before loading */

/* Sums by function. */
struct calls_sums_part {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALLS_SUMS_PART);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct calls_sum));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CALLS_SUMS_PARTS);
	__type(key, __u32);
	__array(values, struct calls_sums_part);
} calls_sums SEC(".maps");

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 bucket = 0;

	if (ns >> 32) {
		bucket += 32;
		ns >>= 32;
	}
	if (ns >> 16) {
		bucket += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		bucket += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		bucket += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		bucket += 2;
		ns >>= 2;
	}
	bucket += ns >> 1;
	return bucket < CALLS_BUCKETS ? bucket : CALLS_BUCKETS - 1;
}

/*
 * The sums are of a CPU, but where the kernel preempts (PREEMPT_LAZY, preempt=full) a thread that
 * is in here is not alone on it.
 */
#define calls_add(sum, value) ((void)__sync_fetch_and_add(&(sum), value))

/* How often another thread may come between two instructions of this one. */
#define CALLS_TRIES 4

/* The least or the most so far becomes `value`, if that is less or more; 0: there is none yet. */
static __always_inline void calls_keep_extreme(__u64 *kept, __u64 value, bool is_least)
{
	for (__u32 i = 0; i < CALLS_TRIES; i++) {
		__u64 old = *(volatile __u64 *)kept;

		if (old && (is_least ? value >= old : value <= old))
			return;
		if (__sync_val_compare_and_swap(kept, old, value) == old)
			return;
	}
}

/*
 * The open call that is of that number in frames ends. Not static, as --summary took the kernel's
 * verifier a second more otherwise, which is more than a short recording saves.
 */
__noinline int calls_sum_up(struct calls_thread *t, __u32 at, __u64 duration, __u32 flags)
{
	struct calls_frame *frame = t ? frame_at(t, at) : NULL;
	__u32 number, function, bucket;
	struct calls_sum *sum;
	void *part;

	if (!frame)
		return 0;
	number = frame->function / CALLS_SUMS_PART;
	function = frame->function % CALLS_SUMS_PART;
	part = bpf_map_lookup_elem(&calls_sums, &number);
	sum = part ? bpf_map_lookup_elem(part, &function) : NULL;
	bucket = bucket_of(duration);
	if (!sum) {
		capture_count_loss(CAPTURE_SOURCE_CALLS, CAPTURE_LOSS_CALL_RING_FULL);
		return 0;
	}
	calls_keep_extreme(&sum->min, duration, true);
	calls_keep_extreme(&sum->max, duration, false);
	calls_add(sum->calls, 1);
	calls_add(sum->inferred, !!(flags & CALLS_INFERRED));
	calls_add(sum->total, duration);
	if (frame->flags & FRAME_RECURSIVE)
		calls_add(sum->recursive, duration);
	calls_add(sum->self, duration > frame->children ? duration - frame->children : 0);
	calls_add(sum->waited, t->waited - frame->waited);
	if (bucket < CALLS_BUCKETS)
		calls_add(sum->buckets[bucket], 1);
	return 0;
}

/*
 * A call for which there is no frame: that it was made is known, its time stays with the one around
 * it.
 */
__noinline int calls_sum_up_beyond(__u32 number)
{
	__u32 part_number = number / CALLS_SUMS_PART, function = number % CALLS_SUMS_PART;
	void *part = bpf_map_lookup_elem(&calls_sums, &part_number);
	struct calls_sum *sum = part ? bpf_map_lookup_elem(part, &function) : NULL;

	if (!sum) {
		capture_count_loss(CAPTURE_SOURCE_CALLS, CAPTURE_LOSS_CALL_RING_FULL);
		return 0;
	}
	if (!sum->calls)
		sum->min = 0;
	calls_add(sum->calls, 1);
	calls_add(sum->inferred, 1);
	capture_count_loss(CAPTURE_SOURCE_CALLS, CAPTURE_LOSS_CALL_NO_TIME);
	return 0;
}

/*
 * What is open at the end may have ended before, if its return would not have been seen; so may
 * what has jumped to another function, which is not the one that returns.
 */
static __always_inline __u32 end_flags(const struct calls_frame *frame, __u32 flags)
{
	if ((flags & CALLS_OPEN && frame->flags & FRAME_INFERRED) ||
	    (frame->flags & (FRAME_JUMPED | FRAME_JOINED)) == FRAME_JUMPED)
		return flags | CALLS_INFERRED;
	return flags;
}

/* The innermost call of the lane ends. False: there is none. */
static __always_inline bool pop(struct calls_thread *t, struct calls_lane *lane, __u64 now,
				__u32 flags)
{
	struct calls_frame *frame = frame_at(t, lane->top), *below;
	__u32 number = lane->top;
	__u64 duration;
	__u8 *open;

	if (!frame)
		return false;
	flags = end_flags(frame, flags);
	lane->top = frame->below;
	lane->depth--;
	if (frame->flags & (FRAME_UNDER | FRAME_RETURN)) {
		lane->under -= !!(frame->flags & FRAME_UNDER);
		lane->returns -= !!(frame->flags & FRAME_RETURN);
	}
	if (calls_summary) {
		open = &t->open[frame->function & 63];
		if (*open != 255)
			--*open;
	}
	duration = now - frame->start;
	below = frame_at(t, frame->below);
	if (!(frame->flags & FRAME_HIDDEN)) {
		if (below)
			below->children += duration;
		/* what gets a call's begin gets its end, too */
		if (duration >= calls_shortest || calls_entries) {
			if (calls_summary)
				calls_sum_up(t, number, duration, flags);
			else
				send_call(t, CAPTURE_CALL, now, frame, lane->depth, flags);
		}
	}
	frame->below = t->free;
	t->free = number;
	return true;
}

struct pop_loop {
	struct calls_thread *thread;
	__u64 sp, now;
	__u32 flags;
};

/* For bpf_loop(): ends calls with a stack pointer of at most sp. */
static long pop_step(__u32 i, void *context)
{
	struct pop_loop *loop = context;
	struct calls_thread *t = loop->thread;
	struct calls_lane *lane = lane_now(t);
	struct calls_frame *top = frame_at(t, lane->top);

	if (!top || top->sp > loop->sp)
		return 1;
	return !pop(t, lane, loop->now, loop->flags);
}

__noinline int calls_pop_up_to(struct calls_thread *t, __u64 sp, __u64 now, __u32 flags)
{
	struct pop_loop loop = {t, sp, now, flags};

	if (t)
		bpf_loop(CALLS_FRAMES_MAX, pop_step, &loop, 0);
	return 0;
}

/* For bpf_loop(): ends the innermost call. */
static long pop_one(__u32 i, void *context)
{
	struct pop_loop *loop = context;
	struct calls_thread *t = loop->thread;

	return !pop(t, lane_now(t), loop->now, loop->flags);
}

/* Ends the n innermost calls of the lane that the thread is on. */
__noinline int calls_pop_some(struct calls_thread *t, __u32 n, __u64 now, __u32 flags)
{
	struct pop_loop loop = {.thread = t, .now = now, .flags = flags};

	if (t)
		bpf_loop(n, pop_one, &loop, 0);
	return 0;
}

/* What a new part looks like. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_part);
} calls_new_part SEC(".maps");

/* Makes the part in which frame n lies. */
static __always_inline bool make_part(struct calls_thread *t, __u32 n)
{
	struct calls_part_key key = {t->track, (n - 1 - FRAMES_NEAR) / FRAMES_PART};
	__u32 zero = 0;
	void *part = bpf_map_lookup_elem(&calls_new_part, &zero);

	return part && !bpf_map_update_elem(&calls_parts, &key, part, BPF_NOEXIST);
}

/*
 * A frame that was never used yet, for a call of the function; null: there is none, and the call is
 * counted as lost.
 */
static __noinline struct calls_frame *new_frame(struct calls_thread *t, __u32 function, bool hidden)
{
	__u32 n = t->used + 1;
	struct calls_frame *frame = frame_at(t, n);

	if (!frame && n <= CALLS_FRAMES_MAX && make_part(t, n))
		frame = frame_at(t, n);
	if (frame) {
		t->used = n;
		return frame;
	}
	if (!calls_summary) {
		capture_count_loss(CAPTURE_SOURCE_CALLS, n <= CALLS_FRAMES_MAX
								 ? CAPTURE_LOSS_CALL_NO_STACK
								 : CAPTURE_LOSS_CALL_DEPTH);
		t->lost = 1;
	} else if (!hidden) {
		calls_sum_up_beyond(function);
	}
	return NULL;
}

/* Nothing is open: gives all frames back that are not near. */
static __noinline int forget_parts(struct calls_thread *t)
{
	struct calls_part_key key = {.track = t->track};
	__u32 i;

	for (i = 0; i < PARTS_MAX; i++) {
		if (t->used <= FRAMES_NEAR + i * FRAMES_PART)
			break;
		key.part = i;
		bpf_map_delete_elem(&calls_parts, &key);
	}
	t->used = t->free = 0;
	return 0;
}

/* All that is open ends here: the thread, its program, or the recording does. */
static __always_inline void pop_all(struct calls_thread *t, __u64 now)
{
	__u32 i;

	for (i = 0; i < CALLS_LANES; i++) {
		t->lane = i;
		if (lane_at(t, i)->top)
			calls_pop_up_to(t, ~0ull, now, CALLS_OPEN);
	}
	t->lane = 0;
	forget_parts(t);
	calls_send_batch(t);
}

#endif
