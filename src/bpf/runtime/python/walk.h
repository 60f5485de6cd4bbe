/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_PYTHON_WALK_H
#define BPF_RUNTIME_PYTHON_WALK_H

/* Where a walk along Python's frames stands, and how one frame is read; python.h has the way. */
#include "bpf/runtime/python/code.h"

/*
 * w->state[UNWIND_RUNTIME_PYTHON]: [0] is a frame or thread state (48 bits) and the steps that were
 * needed so far (16 bits); [1] the anchor (48 bits), one of these (4 bits), and how many of this
 * thread's states are used up, in the order of a search (4 bits).
 */
enum python_phase {
	PYTHON_BEGIN = 0, /* no thread state yet */
	/*
	 * [0]: a thread state that may be this thread's; anchor: how many that are its own were met
	 */
	PYTHON_SEARCH,
	PYTHON_HAVE, /* [0]: innermost frame; the anchor is not known */
	/* [0]: next frame; anchor: innermost one; steps: what w->count was before any was pushed */
	PYTHON_TRY,
	PYTHON_WAIT, /* [0]: innermost frame; no native frame with the anchor yet */
	/* [0]: next frame; this native frame has the anchor; steps: the same, up to 3.12 */
	PYTHON_PUSH,
	PYTHON_DONE, /* there are no more */
};

#define PYTHON_USED_SHIFT 52
#define PYTHON_USED_MASK  (15ull << PYTHON_USED_SHIFT)

/* At most this many thread states are looked at. */
#define PYTHON_STEPS_MAX 1024

/* Frames that are gone through in one step. */
#define PYTHON_AT_ONCE 64

/* In place of a frame's address: it can be any. */
#define PYTHON_ANY (~0ull)

/* In place of a count: frames are looked at only. */
#define PYTHON_NOT_PUSHED 0xffff

/* A thread can have several states, one in each interpreter; at most this many are looked at. */
#define PYTHON_STATES_MAX 8

/* The native frame of the evaluation function is not larger than this. */
#define PYTHON_NATIVE_FRAME_MAX 2048

/* enum _frameowner: those from here on run no Python function. */
#define PYTHON_OWNED_BY_C 3

static __always_inline void python_set(struct unwind_walk *w, __u64 at, __u64 steps, __u64 anchor,
				       enum python_phase phase)
{
	__u64 *state = w->state[UNWIND_RUNTIME_PYTHON];

	state[0] = (at & UNWIND_VALUE_MASK) | steps << 48;
	state[1] =
		(state[1] & PYTHON_USED_MASK) | (anchor & UNWIND_VALUE_MASK) | (__u64)phase << 48;
}

static __always_inline int python_next(struct unwind_walk *w, __u64 at, __u64 anchor,
				       enum python_phase phase)
{
	python_set(w, at, 0, anchor, phase);
	return UNWIND_AGAIN;
}

static __always_inline int python_done(struct unwind_walk *w)
{
	python_set(w, 0, 0, 0, PYTHON_DONE);
	return UNWIND_NATIVE;
}

static __always_inline int python_end(struct unwind_walk *w, enum unwind_end end)
{
	unwind_stop(w, end);
	return UNWIND_ENDED;
}

static __always_inline __u32 python_used(const struct unwind_walk *w)
{
	return (w->state[UNWIND_RUNTIME_PYTHON][1] & PYTHON_USED_MASK) >> PYTHON_USED_SHIFT;
}

static __always_inline void python_use(struct unwind_walk *w, __u64 used)
{
	__u64 *state = w->state[UNWIND_RUNTIME_PYTHON];

	state[1] = (state[1] & ~PYTHON_USED_MASK) | (used << PYTHON_USED_SHIFT & PYTHON_USED_MASK);
}

/*
 * The frame that was read last. Not on the stack, which Linux 6.1 gives a chain of calls 512 bytes
 * of.
 */
static __always_inline struct python_frame *python_frame(struct unwind_walk *w)
{
	return (struct python_frame *)w->aside;
}

/* Reads the frame at `at` into python_frame(). Returns 0, or -1 where its memory cannot be read. */
UNWIND_APART int python_read_frame(UNWIND_WHOLE *whole, const struct python_data *data, __u64 at)
{
	const __u32 bytes = PYTHON_WORDS * sizeof(__u64);
	struct python_frame *frame;
	struct unwind_walk *w;
	__u64 from;
	long failed;

	if (!whole || !data)
		return -1;
	w = unwind_walk_of(whole);
	frame = python_frame(w);
	from = at + data->frame_from;
	/* since 3.11, the frames of functions that call one another lie side by side */
	if (data->shape == PYTHON_FRAME_OBJECTS)
		failed = unwind_read_far(w, w->piece, bytes, from);
	else
		failed = unwind_read_down(w, w->piece, bytes, from);
	if (failed &&
	    (data->frame_bytes > bytes || unwind_read_far(w, w->piece, data->frame_bytes, from)))
		return -1;
	/*
	 * references may have tags in their lowest bits since 3.14
	 * (Include/internal/pycore_stackref.h)
	 */
	frame->code = python_word(w, data->frame_code) & ~7ull;
	frame->previous = python_word(w, data->frame_previous);
	frame->instruction = python_word(w, data->frame_instruction);
	frame->function = python_word(w, data->frame_function);
	frame->owner = python_word(w, data->frame_owner) >> (data->frame_owner & 7) * 8;
	return 0;
}

static __always_inline int python_is_in(const struct python_range *range, __u64 at)
{
	return at - range->start < range->end - range->start;
}

static __always_inline int python_is_eval(const struct python_data *data, __u64 at)
{
	return python_is_in(&data->eval, at) || python_is_in(&data->eval_cold, at);
}

/* 3.8 to 3.10: whether the evaluation function at w->pc has its Python frame in the list. */
static __always_inline int python_is_linked(const struct unwind_walk *w,
					    const struct python_data *data)
{
	__u64 at = unwind_at(w);
	__u32 i;

	for (i = 0; i < PYTHON_UNLINKED_MAX; i++)
		if (i < data->unlinked_count && python_is_in(&data->unlinked[i], at))
			return 0;
	return 1;
}

#endif
