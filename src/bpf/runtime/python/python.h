/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_PYTHON_PYTHON_H
#define BPF_RUNTIME_PYTHON_PYTHON_H

/*
 * Frames of CPython (see runtimes.h).
 *
 * Python's frames are a list, from the innermost one outwards, that begins in the thread's
 * PyThreadState. One native frame, that of _PyEval_EvalFrameDefault(), runs one or several of them:
 * up to 3.10 one; since 3.11 a Python function that calls another one needs no native call, so it
 * runs all frames up to the one with which it was entered. Which native frame runs which Python
 * frames is not found by the address of its code, but by something that each call of the evaluation
 * function puts into its own native frame and links into the list: the anchor. The native frame
 * that the anchor lies in runs the frames up to it. A frame of the evaluation function that is not
 * linked yet, or not any more, has none, and so gets no Python frames.
 *
 *	3.8-3.10	no anchor: each frame of the evaluation function runs one Python frame
 *	3.11		the _PyCFrame: current_frame is the innermost frame, is_entry marks the
 *			outermost; `previous` is the anchor of the caller
 *			(Include/cpython/pystate.h, Include/internal/pycore_frame.h, Python/ceval.c)
 *	3.12		the same; the outermost frame is followed by one that C code owns (in both,
 *			a _PyCFrame is linked some instructions before it has a frame: what seems to
 *			be there then does not go on with the frame of the one before it, and is
 *			passed by)
 *	3.13, 3.14	that frame, owned by C code, is the anchor: there is no _PyCFrame any more
 *	3.15-		the same; the list ends with one more such frame, which lies in the thread
 *			state and is not an anchor (base_frame: Include/cpython/pystate.h,
 *			Python/pystate.c)
 *
 * The thread state comes from the thread's own memory (a pthread key that PyGILState_* uses), or is
 * looked up in the lists of all thread states. Either way it must bear this thread's id, which is
 * its thread pointer: frames of another thread are never shown.
 */

#include "bpf/runtime/python/thread.h"

/* Where the native frame at w->pc ends; 0: not known. */
UNWIND_APART __u64 python_native_end(UNWIND_WHOLE *whole)
{
	struct unwind_walk *w;
	__u64 at;

	if (!whole)
		return 0;
	w = unwind_walk_of(whole);
	at = unwind_at(w);
	/* as unwind_native() does */
	if (!unwind_recall(w, at | UNWIND_IS_RUNTIME) && !unwind_find_rule_here(w, at))
		return w->fp + 16;
	if (w->rule.cfa == UNWIND_CFA_SP)
		return w->sp + (__s64)w->rule.cfa_offset;
	return w->rule.cfa == UNWIND_CFA_FP ? w->fp + (__s64)w->rule.cfa_offset : 0;
}

/* Whether it lies where a native frame at w->pc can be. */
static __always_inline int python_is_native(const struct unwind_walk *w, __u64 address)
{
	return address >= w->sp && address - w->sp <= PYTHON_NATIVE_FRAME_MAX;
}

/* Whether the anchor lies in the native frame at w->pc. */
static __always_inline int python_has_anchor(struct unwind_walk *w, __u64 anchor)
{
	return python_is_native(w, anchor) && anchor < python_native_end(unwind_whole_of(w));
}

/* Appends python_frame(). Returns as unwind_push(). */
UNWIND_APART int python_push(UNWIND_WHOLE *whole, const struct python_data *data)
{
	const struct python_frame *frame;
	int variant = PYTHON_CHECKED;
	struct unwind_memo *memo;
	struct unwind_walk *w;
	__u64 index;
	__u32 sum = 0;

	if (!whole || !data)
		return 1;
	w = unwind_walk_of(whole);
	frame = python_frame(w);
	memo = unwind_memo(w, frame->code);
	if (frame->code && memo->key == frame->code) {
		sum = memo->words[0];
	} else {
		variant = python_identify(w, data, frame, &sum);
		if (variant == PYTHON_CHECKED_NOW) {
			python_keep(w, data, frame->code, sum);
			variant = PYTHON_CHECKED;
		}
		memo->key = variant == PYTHON_CHECKED ? frame->code : 0;
		memo->words[0] = sum;
	}
	index = frame->instruction;
	if (data->code_first_byte)
		index = (index - frame->code - data->code_first_byte) >> 1;
	return unwind_push_runtime(w,
				   UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_PYTHON, variant, frame->code),
				   index << 32 | sum);
}

static __always_inline int python_has_cframes(const struct python_data *data)
{
	return data->shape == PYTHON_CFRAMES_ENTRY || data->shape == PYTHON_CFRAMES;
}

/*
 * 3.11, 3.12: goes on with the _PyCFrame before the one at anchor. previous: the frame that it must
 * have, or PYTHON_ANY.
 */
static __always_inline int python_outer(struct unwind_walk *w, const struct python_data *data,
					__u64 anchor, __u64 previous, __u64 count)
{
	__u64 next, current = 0;

	if (unwind_read_far(w, &next, sizeof(next), anchor + data->cframe_previous))
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	if (next && unwind_read_far(w, &current, sizeof(current), next + data->cframe_current))
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	if (current == previous && !current)
		return python_done(w);
	if (current != previous && previous != PYTHON_ANY) {
		if (!w->pc_exact)
			return python_end(w, UNWIND_END_RUNTIME_STATE);
		w->count = count;
	}
	/*
	 * one without frames belongs to none: if there is an evaluation function yet to come, the
	 * way was lost
	 */
	python_set(w, current, 0, current ? next : 0, PYTHON_WAIT);
	return UNWIND_NATIVE;
}

/*
 * The native frame has run all frames up to its anchor: what comes next, further outside. count: as
 * in PYTHON_PUSH.
 */
static __always_inline int python_leave(struct unwind_walk *w, const struct python_data *data,
					__u64 anchor, __u64 previous, __u64 count)
{
	if (python_has_cframes(data))
		return python_outer(w, data, anchor, previous, count);
	if (!previous)
		return python_done(w);
	/* the next anchor belongs to another native frame */
	python_set(w, previous, 0, 0, data->shape >= PYTHON_FRAMES ? PYTHON_HAVE : PYTHON_WAIT);
	return UNWIND_NATIVE;
}

enum python_stop {
	PYTHON_GOES_ON = 0,
	PYTHON_AT_ANCHOR, /* no more of this native frame */
	PYTHON_AT_BASE,	  /* no more at all */
	PYTHON_CUT,	  /* it ends: w->end says why */
};

/* A way along the list. */
struct python_way {
	struct unwind_walk *walk;
	const struct python_data *data;
	__u64 begin;	    /* its first frame */
	__u64 at, previous; /* the frame that is next, or the last one; the one behind that */
	__u32 pushes;	    /* its frames are pushed */
	__u32 stop;	    /* enum python_stop */
};

static __always_inline long python_cut(struct python_way *way, enum unwind_end end)
{
	way->stop = PYTHON_CUT;
	return unwind_stop(way->walk, end);
}

/*
 * 3.13 and later: an anchor is linked some instructions before it has its owner. In the list only
 * anchors lie on the native stack.
 */
static __always_inline int python_is_new_anchor(const struct python_way *way)
{
	return way->data->shape >= PYTHON_FRAMES && python_is_native(way->walk, way->at);
}

/* For unwind_repeat(): one Python frame, or the end of those that a native frame runs. */
static long python_go(__u32 i, void *context)
{
	struct python_way *way = context;
	const struct python_data *data = way->data;
	const struct python_frame *frame = python_frame(way->walk);

	(void)i;
	if (python_read_frame(unwind_whole_of(way->walk), data, way->at))
		return python_cut(way, UNWIND_END_RUNTIME_MEMORY);
	way->previous = frame->previous;
	way->stop = data->shape == PYTHON_FRAMES_BASED && !frame->previous ? PYTHON_AT_BASE
									   : PYTHON_AT_ANCHOR;
	if (data->shape >= PYTHON_CFRAMES &&
	    (frame->owner >= PYTHON_OWNED_BY_C || python_is_new_anchor(way)))
		return 1;
	if (way->pushes && python_push(unwind_whole_of(way->walk), data)) {
		way->stop = PYTHON_CUT;
		return 1;
	}
	if (data->shape == PYTHON_CFRAMES_ENTRY && frame->owner)
		return 1;
	way->stop = PYTHON_GOES_ON;
	/* what is not a frame may lead to itself */
	if (!frame->previous || frame->previous == way->begin)
		return python_cut(way, UNWIND_END_RUNTIME_STATE);
	way->at = frame->previous;
	return 0;
}

/*
 * 3.13 and later: the anchor stands behind the frames that it is the anchor of. Mostly it is the
 * evaluation function that is met first: its frames are pushed at once, and taken back if the
 * anchor is not its own.
 */
static __always_inline int python_have(struct unwind_walk *w, const struct python_data *data,
				       __u64 frame)
{
	__u64 end = python_native_end(unwind_whole_of(w));

	/*
	 * it has no room for an anchor; but it may be the caller of a frame that was not seen
	 * (python_tried())
	 */
	if (!w->guess && (end < w->sp || end - w->sp < data->frame_bytes))
		return UNWIND_NATIVE;
	python_set(w, frame, python_is_eval(data, unwind_at(w)) ? w->count : PYTHON_NOT_PUSHED,
		   frame, PYTHON_TRY);
	return UNWIND_AGAIN;
}

/* The end of a try; innermost: where it has begun. */
static __always_inline int python_tried(struct unwind_walk *w, const struct python_data *data,
					const struct python_way *way, __u64 innermost, __u64 count)
{
	if (way->stop == PYTHON_AT_ANCHOR && python_has_anchor(w, way->at))
		return way->pushes ? python_leave(w, data, way->at, way->previous, count)
				   : python_next(w, innermost, way->at, PYTHON_PUSH);
	if (way->pushes && w->end != UNWIND_END_FRAMES)
		w->count = count;
	if (way->stop == PYTHON_CUT)
		return UNWIND_ENDED;
	if (way->stop == PYTHON_AT_BASE)
		return python_done(w);
	if (way->at < w->sp) {
		/*
		 * What lies nearer to the leaf has been passed. The code that 3.14 compiles has no
		 * unwind information and leaves the frame pointer to who has called it: its caller,
		 * which has the anchor, was not seen.
		 */
		if (w->guess && !python_used(w))
			return python_next(w, innermost, way->at, PYTHON_PUSH);
		/* or a thread state that was used up */
		return python_search_all(w, data);
	}
	python_set(w, innermost, 0, way->at, PYTHON_WAIT);
	return UNWIND_NATIVE;
}

/* PYTHON_PUSH and PYTHON_TRY; anchor: what belongs to each of them. */
static __always_inline int python_run(struct unwind_walk *w, const struct python_data *data,
				      __u64 at, __u64 count, __u64 anchor, enum python_phase phase)
{
	struct python_way way = {w, data, at, at, 0, count != PYTHON_NOT_PUSHED, PYTHON_GOES_ON};

	unwind_repeat(PYTHON_AT_ONCE, python_go, &way);
	if (way.stop == PYTHON_GOES_ON) {
		python_set(w, way.at, count, anchor, phase);
		return UNWIND_AGAIN;
	}
	if (phase == PYTHON_TRY)
		return python_tried(w, data, &way, anchor, count);
	if (way.stop != PYTHON_CUT)
		return python_leave(w, data, anchor, way.previous, count);
	if (!python_has_cframes(data) || !w->pc_exact || w->end == UNWIND_END_FRAMES)
		return UNWIND_ENDED;
	w->count = count;
	return python_outer(w, data, anchor, PYTHON_ANY, count);
}

/* 3.8 to 3.10: the one Python frame that the evaluation function at w->pc runs. */
static __always_inline int python_object(struct unwind_walk *w, const struct python_data *data,
					 __u64 at)
{
	if (!python_is_linked(w, data))
		return UNWIND_NATIVE;
	if (python_read_frame(unwind_whole_of(w), data, at))
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	if (python_push(unwind_whole_of(w), data))
		return UNWIND_ENDED;
	return python_leave(w, data, 0, python_frame(w)->previous, 0);
}

/* Frames are known, but which native frame runs them? */
static __always_inline int python_wait(struct unwind_walk *w, const struct python_data *data,
				       __u64 frame, __u64 anchor)
{
	if (data->shape == PYTHON_FRAME_OBJECTS)
		return python_object(w, data, frame);
	if (python_has_anchor(w, anchor)) {
		if (!frame)
			return w->pc_exact ? python_outer(w, data, anchor, PYTHON_ANY, w->count)
					   : python_done(w);
		python_set(w, frame, w->count, anchor, PYTHON_PUSH);
		return UNWIND_AGAIN;
	}
	/*
	 * as in python_tried(); python_restart() has found the anchor, but not the native frame
	 * that it lies in
	 */
	if (data->shape >= PYTHON_FRAMES && w->guess && anchor < w->sp && !python_used(w))
		return python_next(w, frame, anchor, PYTHON_PUSH);
	/*
	 * It runs an interpreter that is not the key's and has given up the lock: its thread state
	 * is not to be had. Or the way to its _PyCFrame was lost with the one that was just being
	 * linked.
	 */
	if (python_has_cframes(data) && !w->pc_exact && python_is_eval(data, unwind_at(w)))
		return unwind_miss(w, UNWIND_RUNTIME_PYTHON);
	return UNWIND_NATIVE;
}

static __always_inline int python_step(struct unwind_walk *w)
{
	const struct python_data *data = unwind_data(w);
	__u64 at = w->state[UNWIND_RUNTIME_PYTHON][0] & UNWIND_VALUE_MASK;
	__u64 steps = w->state[UNWIND_RUNTIME_PYTHON][0] >> 48;
	__u64 anchor = w->state[UNWIND_RUNTIME_PYTHON][1] & UNWIND_VALUE_MASK;
	__u32 phase = w->state[UNWIND_RUNTIME_PYTHON][1] >> 48 & 15;

	if (!data)
		return UNWIND_NATIVE;
	if (data->shape == PYTHON_FRAME_OBJECTS && !python_is_eval(data, unwind_at(w)))
		return UNWIND_NEVER;
	/*
	 * which frames have an anchor cannot be seen then: Python is hardly ever there for nothing
	 */
	if (!unwind_is_live(w))
		return unwind_miss(w, UNWIND_RUNTIME_PYTHON);
	switch (phase) {
	case PYTHON_BEGIN:
		return python_begin(w, data);
	case PYTHON_SEARCH:
		return python_search(w, data, at, steps, anchor);
	case PYTHON_HAVE:
		return python_have(w, data, at);
	case PYTHON_WAIT:
		return python_wait(w, data, at, anchor);
	case PYTHON_TRY:
	case PYTHON_PUSH:
		return python_run(w, data, at, steps, anchor, (enum python_phase)phase);
	}
	return python_resume(w, data);
}

#endif
