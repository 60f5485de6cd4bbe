/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_PYTHON_RESTART_H
#define BPF_RUNTIME_PYTHON_RESTART_H

/*
 * CPython's newest frame, where native frames above it cannot be walked (see restart.h).
 *
 * Since 3.11 the anchor (python.h) lies in the native frame of the call of the evaluation function
 * that runs Python's newest frames. That native frame ends, towards the leaf, in the address that
 * what it has called returns to. So that is searched from the anchor on downwards: an address in
 * CPython's own code, behind a call, whose rule says that the frame there has the anchor in it, and
 * that it returns to behind a call again. What lies between the two belongs to that frame, so there
 * is no other.
 *
 * Up to 3.10 there is no anchor. The native frame is searched upwards: one of the evaluation
 * function, with its Python frame in the list. An old one that lies in memory that no code has
 * written since would be taken for it, so it must also have the address of Python's newest frame in
 * it, as the one that runs it has.
 */

#include "bpf/runtime/python/python.h"

/*
 * Words that are looked at in one step; in all, from the stack pointer on, where there is no
 * anchor.
 */
#define PYTHON_SCAN_WORDS     256
#define PYTHON_SCAN_WORDS_MAX 16384

struct python_scan {
	struct unwind_walk *walk;
	const struct python_data *data;
	__u64 from; /* begins behind this word */
	__u64 to;   /* not beyond that one */
	__s64 step; /* from a word to the next */
	__u64 at;   /* of the word that was looked at last */
	__u64 found;
};

/*
 * For unwind_repeat(): whether a word is the address behind a call in CPython. What changes from
 * word to word follows from i, of which the verifier knows nothing: what was counted up from step
 * to step had another range in each, and Linux 6.16, 6.17 and 7 went along all of them.
 */
static long python_scan(__u32 i, void *context)
{
	struct python_scan *scan = context;
	const struct python_data *data = scan->data;
	__u64 value;

	scan->at = scan->from + i * scan->step;
	if (scan->at == scan->to)
		return 1;
	scan->at += scan->step;
	if (unwind_read_down(scan->walk, &value, sizeof(value), scan->at)) {
		scan->at = scan->to;
		return 1;
	}
	if (value - data->image >= data->image_size || !unwind_is_called(scan->walk, value))
		return 0;
	scan->found = value;
	return 1;
}

/*
 * Where a native frame ends that has called something, whose return address is pc, at slot; 0: not
 * known. *fp: its frame pointer, if it has one: then what it has called has saved it right below
 * its return address.
 */
static __always_inline __u64 python_end_of(struct unwind_walk *w, __u64 slot, __u64 pc, __u64 *fp)
{
	__u64 end = 0, back;

	*fp = 0;
	if (!unwind_enter_mapping(w, pc - 1) || !unwind_find_rule_here(w, pc - 1))
		return 0;
	if (w->rule.cfa == UNWIND_CFA_SP)
		end = slot + 8 + (__s64)w->rule.cfa_offset;
	else if (w->rule.cfa == UNWIND_CFA_FP && !unwind_read(w, fp, sizeof(*fp), slot - 8))
		end = *fp + (__s64)w->rule.cfa_offset;
	if (end <= slot + 8 || end - slot > PYTHON_NATIVE_FRAME_MAX ||
	    unwind_read(w, &back, sizeof(back), end - 8) || !unwind_is_called(w, back))
		return 0;
	return end;
}

static __always_inline int python_found(struct unwind_walk *w, __u64 slot, __u64 pc, __u64 fp)
{
	w->restart.found_pc = pc;
	w->restart.found_sp = slot + 8;
	w->restart.found_fp = fp;
	w->restart.fp_known = fp != 0;
	return UNWIND_MOVED;
}

/*
 * Where a search goes on. Read from memory, so that the verifier knows nothing about it: of an
 * address that was made from another one it keeps a range, and Linux 6.16 to 6.18 then go along all
 * of the words.
 */
static __always_inline __u64 python_scan_from(const struct unwind_walk *w)
{
	return *(const volatile __u64 *)&w->restart.found_sp;
}

/* Looks for the native frame that the anchor lies in. */
static __always_inline int python_at_anchor(struct unwind_walk *w, const struct python_data *data,
					    __u64 anchor)
{
	__u64 from = anchor & ~7ull, end, fp;
	struct python_scan scan = {
		.walk = w,
		.data = data,
		.to = from - PYTHON_NATIVE_FRAME_MAX,
		.step = -8,
	};

	if (!anchor || (w->restart.why == UNWIND_RESTART_GUESSED && w->sp <= anchor))
		return UNWIND_NATIVE;
	if (!w->restart.found_sp)
		w->restart.found_sp = from;
	scan.from = python_scan_from(w);
	unwind_repeat(PYTHON_SCAN_WORDS, python_scan, &scan);
	if (scan.found) {
		end = python_end_of(w, scan.at, scan.found, &fp);
		if (anchor < end)
			return python_found(w, scan.at, scan.found, fp);
	}
	if (scan.at == scan.to)
		return UNWIND_NATIVE;
	w->restart.found_sp = scan.at;
	return UNWIND_AGAIN;
}

/* A search for a word in a native frame. */
struct python_words {
	struct unwind_walk *walk;
	__u64 from, end, wanted;
	__u32 found;
};

/* For unwind_repeat(). */
static long python_look(__u32 i, void *context)
{
	struct python_words *words = context;
	__u64 at = words->from + i * 8ull, value;

	if (at >= words->end || unwind_read(words->walk, &value, sizeof(value), at))
		return 1;
	words->found = value == words->wanted;
	return words->found;
}

/*
 * Up to 3.10: looks for the native frame of the evaluation function that runs the Python frame
 * `frame`.
 */
static __always_inline int python_at_frame(struct unwind_walk *w, const struct python_data *data,
					   __u64 frame)
{
	struct python_scan scan = {.walk = w, .data = data, .to = w->sp & ~7ull, .step = 8};
	struct python_words words = {.walk = w, .wanted = frame};
	__u64 fp;

	if (!frame || w->restart.why == UNWIND_RESTART_GUESSED)
		return UNWIND_NATIVE;
	if (!w->restart.found_sp)
		w->restart.found_sp = scan.to;
	scan.from = python_scan_from(w);
	scan.to += 8 * PYTHON_SCAN_WORDS_MAX;
	unwind_repeat(PYTHON_SCAN_WORDS, python_scan, &scan);
	if (scan.found && python_is_eval(data, scan.found - 1)) {
		words.from = scan.at + 8;
		words.end = python_end_of(w, scan.at, scan.found, &fp);
		unwind_repeat(PYTHON_NATIVE_FRAME_MAX / 8, python_look, &words);
		if (words.found)
			return python_found(w, scan.at, scan.found, fp);
	}
	if (scan.at == scan.to)
		return UNWIND_NATIVE;
	w->restart.found_sp = scan.at;
	return UNWIND_AGAIN;
}

/* Goes along the list to the anchor of its newest frames, which is `innermost`; 3.13 and later. */
static __always_inline int python_to_anchor(struct unwind_walk *w, const struct python_data *data,
					    __u64 at, __u64 innermost)
{
	struct python_way way = {w, data, at, at, 0, 0, PYTHON_GOES_ON};

	unwind_repeat(PYTHON_AT_ONCE, python_go, &way);
	if (way.stop == PYTHON_GOES_ON)
		python_set(w, way.at, PYTHON_NOT_PUSHED, innermost, PYTHON_TRY);
	else if (way.stop == PYTHON_AT_ANCHOR)
		python_set(w, innermost, 0, way.at, PYTHON_WAIT);
	else
		return UNWIND_NATIVE;
	return UNWIND_AGAIN;
}

static __always_inline int python_restart(struct unwind_walk *w)
{
	const struct python_data *data = unwind_data(w);
	__u64 at = w->state[UNWIND_RUNTIME_PYTHON][0] & UNWIND_VALUE_MASK;
	__u64 steps = w->state[UNWIND_RUNTIME_PYTHON][0] >> 48;
	__u64 anchor = w->state[UNWIND_RUNTIME_PYTHON][1] & UNWIND_VALUE_MASK;
	__u32 phase = w->state[UNWIND_RUNTIME_PYTHON][1] >> 48 & 15;

	if (!data)
		return UNWIND_NATIVE;
	if (phase == PYTHON_BEGIN)
		return python_begin(w, data);
	if (phase == PYTHON_SEARCH)
		return python_search(w, data, at, steps, anchor);
	if (phase == PYTHON_HAVE || phase == PYTHON_TRY)
		return python_to_anchor(w, data, at, phase == PYTHON_HAVE ? at : anchor);
	if (phase != PYTHON_WAIT)
		return UNWIND_NATIVE;
	return data->shape == PYTHON_FRAME_OBJECTS ? python_at_frame(w, data, at)
						   : python_at_anchor(w, data, anchor);
}

#endif
