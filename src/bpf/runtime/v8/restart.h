/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_V8_RESTART_H
#define BPF_RUNTIME_V8_RESTART_H

/*
 * V8's newest frame, where native frames above it cannot be walked (see restart.h).
 *
 * JavaScript calls C++ through an exit frame of one of V8's builtins (ExitFrameConstants in
 * src/execution/frame-constants.h of V8):
 *
 *	fp + 8	 return address
 *	fp	 the caller's fp
 *	fp - 8	 twice the type of the frame
 *	fp - 16	 the stack pointer at the call, so that below it is the address in the builtin that
 *		 it returns to
 *
 * Such a frame is searched on the stack, upwards. It proves itself: that address in a builtin must
 * lie where the frame says it does. C++ that code of TurboFan calls directly has none.
 */

#include "bpf/runtime/v8/v8.h"

/* Words that are looked at in one step, and in all. */
#define V8_SCAN_WORDS	  512
#define V8_SCAN_WORDS_MAX 16384

struct v8_scan {
	struct unwind_walk *walk;
	__u64 at, to;	    /* of the word that is looked at next; not up to that one */
	__u64 types;	    /* twice how many types there are */
	__u64 sp, type, fp; /* the words before it, and the one there */
	__u32 found;
};

/* For unwind_repeat(): whether a word is where the frame pointer of an exit frame leads to. */
static long v8_scan(__u32 i, void *context)
{
	struct v8_scan *scan = context;
	__u64 at = scan->at;

	(void)i;
	if (at >= scan->to)
		return 1;
	scan->sp = scan->type;
	scan->type = scan->fp;
	if (unwind_read(scan->walk, &scan->fp, sizeof(scan->fp), at)) {
		scan->to = 0;
		return 1;
	}
	scan->at = at + 8;
	if (scan->type & 1 || scan->type - 2 >= scan->types || scan->sp & 7 ||
	    scan->sp <= scan->walk->sp || scan->sp >= at || scan->fp & 7 || scan->fp <= at)
		return 0;
	scan->found = 1;
	return 1;
}

static __always_inline int v8_restart(struct unwind_walk *w)
{
	const struct v8_data *d = unwind_data(w);
	struct unwind_restart *r = &w->restart;
	struct v8_scan scan = {.walk = w};
	__u64 pc;

	if (!d || r->why != UNWIND_RESTART_ENDED)
		return UNWIND_NATIVE;
	scan.at = r->found_sp ? r->found_sp - 16 : w->sp & ~7ull;
	scan.to = (w->sp & ~7ull) + 8 * V8_SCAN_WORDS_MAX;
	scan.types = 2 * d->frame_types;
	OPAQUE(scan.at);
	unwind_repeat(V8_SCAN_WORDS, v8_scan, &scan);
	if (scan.found && !unwind_read(w, &pc, sizeof(pc), scan.sp - 8) &&
	    unwind_enter_mapping(w, pc) && w->mapping.runtime == UNWIND_RUNTIME_V8 &&
	    w->mapping.kind == UNWIND_MAPPING_TABLE &&
	    pc - w->mapping.bias - d->builtins_start < d->builtins_size &&
	    unwind_is_called(w, pc)) {
		r->found_pc = pc;
		r->found_sp = scan.sp;
		r->found_fp = scan.at - 8;
		r->fp_known = 1;
		return UNWIND_MOVED;
	}
	if (scan.at >= scan.to)
		return UNWIND_NATIVE;
	/* the next search begins with the words before it */
	r->found_sp = scan.at;
	return UNWIND_AGAIN;
}

#endif
