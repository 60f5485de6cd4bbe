/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_RESTART_H
#define BPF_UNWIND_RESTART_H

/*
 * A walk begins again. Native code without unwind information that uses the frame pointer for
 * something else has no callers that could be found: hand-written assembler code, code that a
 * program makes at run time. But where a language runtime has called it, that runtime knows its own
 * newest frame. There the walk goes on, behind a mark for what lies between (UNWIND_GAP): the
 * callers are right, and how many native frames are missing is not known.
 *
 * NAME_restart() of the process's runtime is called with the walk where it has ended, or where the
 * frame pointer has led it, and w->mapping.runtime and data set, once for each step. It returns
 *
 *	UNWIND_AGAIN	it wants to be called again
 *	UNWIND_MOVED	w->restart.found_pc, found_sp, found_fp (if fp_known) are those of a frame
 *			that has called
 *	UNWIND_NATIVE	it has none, or cannot tell; UNWIND_ENDED is the same
 *
 * It leaves the walk itself as it is, but for its own w->state. What it finds is proven by the
 * runtime's structures: it is not a guess. A frame pointer may also lead past such a frame, to
 * where some outer function has made one; what was found that way is taken back.
 *
 * A walk begins again only further out than it was before, and a few times at most.
 */

#include "bpf/unwind/walk.h"

/* The runtime is asked so often in one walk; steps of an answer count. */
#define UNWIND_RESTARTS_MAX 512

/*
 * 1 if the byte or bytes of code that a mask leaves are these, else 0: without a branch, of which
 * the verifier goes both ways.
 */
static __always_inline __u64 unwind_has_code(__u64 code, __u64 mask, __u64 wanted)
{
	__u64 other = (code & mask) ^ wanted;

	/* the compiler would make a branch here */
	asm volatile("" : "+r"(other));
	return (other - 1) >> 63;
}

/*
 * Whether a call stands before address pc, of any form: call rel32, or of what is in a
 * register or memory.
 */
static __always_inline int unwind_is_called(const struct unwind_walk *w, __u64 pc)
{
	__u64 code, is;

	if (unwind_read_code(w, &code, sizeof(code), pc - 8))
		return 0;
	/* opcode ff with /2 has a ModRM byte of 10 to 17, 50 to 57, 90 to 97 or d0 to d7 */
	is = unwind_has_code(code >> 24, 0xff, 0xe8);
	is |= unwind_has_code(code >> 48, 0xf8ff, 0xd0ff);
	is |= unwind_has_code(code >> 48, 0xf8ff, 0x10ff);
	is |= unwind_has_code(code >> 40, 0xf8ff, 0x50ff);
	is |= unwind_has_code(code >> 40, 0xffff, 0x14ff);
	is |= unwind_has_code(code >> 32, 0xffff, 0x54ff);
	is |= unwind_has_code(code >> 16, 0xf8ff, 0x90ff);
	is |= unwind_has_code(code >> 16, 0xffff, 0x15ff);
	is |= unwind_has_code(code >> 8, 0xffff, 0x94ff);
	return (int)is;
}

/* No table covers the code at pc: what is found from here on may have to be taken back. */
static __always_inline void unwind_before_guess(struct unwind_walk *w)
{
	w->restart.guessed = 1;
	if (w->guess)
		return;
	w->restart.sp = w->sp;
	w->restart.count = w->count;
}

/* Ends for which the native frames are the reason. */
static __always_inline int unwind_is_lost(const struct unwind_walk *w)
{
	const __u32 lost = 1u << UNWIND_END_MEMORY | 1u << UNWIND_END_UNSUPPORTED |
			   1u << UNWIND_END_NO_RULE | 1u << UNWIND_END_UNMAPPED |
			   1u << UNWIND_END_STUCK;

	/* the frame pointer's root is what some code has put into that register */
	return lost >> (w->end & 31) & 1 || (w->end == UNWIND_END_ROOT && w->restart.guessed);
}

/*
 * The walk has ended, or was led by the frame pointer: the runtime is asked, if there is one.
 * Returns whether it has ended.
 */
static __always_inline int unwind_consider_restart(struct unwind_walk *w, int ended)
{
	struct unwind_restart *r = &w->restart;
	int is_lost = !ended || unwind_is_lost(w);

	r->guessed = 0;
	if (!w->home_runtime || !is_lost || r->asked >= UNWIND_RESTARTS_MAX || !unwind_is_live(w))
		return ended;
	r->why = ended ? UNWIND_RESTART_ENDED : UNWIND_RESTART_GUESSED;
	r->end = w->end;
	r->found_sp = 0;
	w->again = 0;
	w->piece_at = 0;
	return 0;
}

/*
 * Whether the walk is to go on at what was found; guesses that have led beyond it are taken back.
 */
static __always_inline int unwind_restart_fits(struct unwind_walk *w)
{
	struct unwind_restart *r = &w->restart;

	if (r->found_sp <= r->last_sp || (r->why == UNWIND_RESTART_GUESSED && w->sp <= r->found_sp))
		return 0;
	if (w->sp < r->found_sp)
		return 1;
	if (!r->sp || r->sp >= r->found_sp)
		return 0;
	w->count = r->count;
	return 1;
}

/* Asks the runtime once. Returns 1: the walk has ended, for the reason that it had ended for. */
static __always_inline int unwind_restart(struct unwind_walk *w)
{
	struct unwind_restart *r = &w->restart;
	int moved, ended = r->why == UNWIND_RESTART_ENDED, fits;
	__u64 *frames = unwind_frames(w);
	__u32 count;

	w->mapping.runtime = w->home_runtime;
	w->mapping.data = w->home_data;
	moved = r->asked + 1 < UNWIND_RESTARTS_MAX ? unwind_runtime_restart(w) : UNWIND_NATIVE;
	if (moved == UNWIND_ELSEWHERE)
		return 1;
	r->asked++;
	if (moved == UNWIND_AGAIN)
		return 0;
	fits = moved == UNWIND_MOVED && unwind_restart_fits(w);
	r->why = UNWIND_RESTART_NONE;
	w->mapping.start = w->mapping.end = 0;
	w->end = r->end;
	if (!frames || !fits)
		return ended;
	count = w->count;
	if (count >= UNWIND_FRAMES_MAX - 1) {
		w->end = UNWIND_END_FRAMES;
		return 1;
	}
	asm volatile("" : "+r"(count));
	frames[count & (UNWIND_FRAMES_MAX - 1)] = UNWIND_GAP;
	frames[(count + 1) & (UNWIND_FRAMES_MAX - 1)] = 0;
	w->count = count + 2;
	w->pc = r->found_pc;
	w->sp = r->last_sp = r->found_sp;
	w->fp = r->found_fp;
	w->fp_known = r->fp_known;
	w->saved_at = UNWIND_SAVED_UNKNOWN;
	w->known = 0;
	w->pc_exact = w->guess = 0;
	r->sp = 0;
	return 0;
}

#endif
