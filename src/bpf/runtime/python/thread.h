/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_PYTHON_THREAD_H
#define BPF_RUNTIME_PYTHON_THREAD_H

/*
 * Which of Python's thread states is that of the thread that is walked; it may have several, one in
 * each interpreter.
 */
#include "bpf/runtime/python/walk.h"

/* A pointer to a thread state: this thread's? */
static __always_inline int python_is_mine(const struct unwind_walk *w,
					  const struct python_data *data, __u64 thread)
{
	__u64 id;

	return thread && !unwind_read_far(w, &id, sizeof(id), thread + data->thread_id) &&
	       id == w->tls;
}

/* A state of this thread: the frames that it runs. UNWIND_NATIVE: none here. */
static __always_inline int python_enter(struct unwind_walk *w, const struct python_data *data,
					__u64 thread)
{
	__u64 frame, current;

	if (unwind_read_far(w, &frame, sizeof(frame), thread + data->thread_frame))
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	if (!frame)
		return python_done(w);
	if (data->shape == PYTHON_FRAME_OBJECTS)
		return python_next(w, frame, 0, PYTHON_WAIT);
	if (data->shape >= PYTHON_FRAMES)
		return python_next(w, frame, 0, PYTHON_HAVE);
	if (frame < w->sp)
		return python_done(w);
	if (unwind_read_far(w, &current, sizeof(current), frame + data->cframe_current))
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	return python_next(w, current, frame, PYTHON_WAIT);
}

/* The thread state that the pthread key leads to. 0: there is none; 1: memory could not be read. */
static __always_inline __u64 python_by_key(const struct unwind_walk *w,
					   const struct python_data *data)
{
	__u64 thread = 0;

	if (unwind_read_far(w, &thread, sizeof(thread), w->tls + (__s64)data->tss))
		return 1;
	if (data->tss_indirect && thread &&
	    unwind_read_far(w, &thread, sizeof(thread), thread + data->tss_indirect - 1))
		return 1;
	return thread;
}

static __always_inline int python_search_all(struct unwind_walk *w, const struct python_data *data)
{
	__u64 interpreter, thread;

	if (unwind_read_far(w, &interpreter, sizeof(interpreter), data->interpreters) ||
	    unwind_read_far(w, &thread, sizeof(thread), interpreter + data->interpreter_threads))
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	return python_next(w, thread, 0, PYTHON_SEARCH);
}

/* Where this thread's state may be. */
static __always_inline int python_begin(struct unwind_walk *w, const struct python_data *data)
{
	__u64 thread;

	if (!w->tls)
		return python_end(w, UNWIND_END_RUNTIME_STATE);
	/*
	 * up to 3.11 the key has the first interpreter's, even while this thread runs another one
	 */
	if (data->current && !unwind_read_far(w, &thread, sizeof(thread), data->current) &&
	    python_is_mine(w, data, thread))
		return python_enter(w, data, thread);
	if (data->tss) {
		thread = python_by_key(w, data);
		if (thread == 1)
			return python_end(w, UNWIND_END_RUNTIME_MEMORY);
		/* a thread that Python does not know */
		if (!thread)
			return python_done(w);
		if (python_is_mine(w, data, thread))
			return python_enter(w, data, thread);
	}
	return python_search_all(w, data);
}

/*
 * The thread state behind another one in the lists of all interpreters; 0: there is none; 1: not
 * readable.
 */
static __always_inline __u64 python_behind(const struct unwind_walk *w,
					   const struct python_data *data, __u64 thread)
{
	__u64 next, interpreter;

	if (unwind_read_far(w, &next, sizeof(next), thread + data->thread_next))
		return 1;
	if (next)
		return next;
	if (unwind_read_far(w, &interpreter, sizeof(interpreter),
			    thread + data->thread_interpreter) ||
	    unwind_read_far(w, &interpreter, sizeof(interpreter),
			    interpreter + data->interpreter_next))
		return 1;
	if (!interpreter)
		return 0;
	return unwind_read_far(w, &next, sizeof(next), interpreter + data->interpreter_threads)
		       ? 1
		       : next;
}

/* Looks at one thread state, and moves on to the next one. */
static __always_inline int python_search(struct unwind_walk *w, const struct python_data *data,
					 __u64 thread, __u64 steps, __u64 met)
{
	int moved;

	if (!thread || steps >= PYTHON_STEPS_MAX || met >= PYTHON_STATES_MAX) {
		python_use(w, PYTHON_STATES_MAX);
		return python_done(w);
	}
	if (python_is_mine(w, data, thread)) {
		met++;
		if (met > python_used(w)) {
			python_use(w, met);
			moved = python_enter(w, data, thread);
			if (moved != UNWIND_NATIVE)
				return moved;
		}
	}
	thread = python_behind(w, data, thread);
	if (thread == 1)
		return python_end(w, UNWIND_END_RUNTIME_MEMORY);
	python_set(w, thread, steps + 1, met, PYTHON_SEARCH);
	return UNWIND_AGAIN;
}

/*
 * The list has ended. Another interpreter may have called the one that was seen, on the same
 * thread: if there are several, all states of this thread are looked at.
 */
static __always_inline int python_resume(struct unwind_walk *w, const struct python_data *data)
{
	__u64 interpreter = 0, thread = 0;

	if (python_used(w) >= PYTHON_STATES_MAX) {
		w->finished |= 1u << UNWIND_RUNTIME_PYTHON;
		return UNWIND_NATIVE;
	}
	if (data->shape != PYTHON_FRAME_OBJECTS) {
		if (!unwind_read_far(w, &interpreter, sizeof(interpreter), data->interpreters) &&
		    !unwind_read_far(w, &interpreter, sizeof(interpreter),
				     interpreter + data->interpreter_next) &&
		    interpreter)
			return python_search_all(w, data);
		python_use(w, PYTHON_STATES_MAX);
		return UNWIND_NATIVE;
	}
	/*
	 * one that has just begun or is about to return may have no Python frame, if it has not
	 * called anything
	 */
	if (w->pc_exact || !python_is_linked(w, data))
		return UNWIND_NATIVE;
	/* without anchors nothing tells which one is meant, so there may only be that of the key */
	if (data->tss)
		thread = python_by_key(w, data);
	python_use(w, PYTHON_STATES_MAX);
	if (thread > 1 && python_is_mine(w, data, thread))
		return python_enter(w, data, thread);
	return python_end(w, UNWIND_END_RUNTIME_STATE);
}

#endif
