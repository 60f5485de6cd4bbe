/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_RESTART_H
#define BPF_RUNTIME_HOTSPOT_RESTART_H

/*
 * HotSpot's newest frame, where native frames above it cannot be walked (see restart.h).
 *
 * When Java calls native code, the thread notes its last Java frame: stack pointer, pc and, where
 * it is known, rbp (JavaThread::_anchor, share/runtime/javaFrameAnchor.hpp). When native code calls
 * Java, the anchor moves into the wrapper of that call, which the frame of the call stub has the
 * address of (share/runtime/javaCalls.hpp, cpu/x86/frame_x86.hpp): that one says where the walk
 * goes on below the call stub.
 *
 * The thread is the value of a pthread key; it is this one if its OSThread has this thread pointer.
 */

#include "bpf/runtime/hotspot/hotspot.h"

/*
 * The anchor that says where Java's newest frame is that the walk has not seen yet; 0: there is
 * none.
 */
static __always_inline __u64 hotspot_anchor(const struct unwind_walk *w,
					    const struct hotspot_data *d)
{
	__u64 call_stub = w->state[UNWIND_RUNTIME_HOTSPOT][0], at, id;

	if (call_stub)
		return d->wrapper && !unwind_read(w, &at, sizeof(at), call_stub + (__s64)d->wrapper)
			       ? at + d->wrapper_anchor
			       : 0;
	if (!d->thread || !w->tls ||
	    unwind_read_far(w, &at, sizeof(at), w->tls + (__s64)d->thread) || !at ||
	    unwind_read_far(w, &id, sizeof(id), at + d->thread_os) ||
	    unwind_read_far(w, &id, sizeof(id), id + d->os_id) || id != w->tls)
		return 0;
	return at + d->thread_anchor;
}

static __always_inline int hotspot_restart(struct unwind_walk *w)
{
	const struct hotspot_data *d = unwind_data(w);
	__u64 anchor = d ? hotspot_anchor(w, d) : 0, pc, sp, fp;

	if (!anchor || unwind_read_far(w, &sp, sizeof(sp), anchor + d->anchor_sp) ||
	    unwind_read_far(w, &pc, sizeof(pc), anchor + d->anchor_pc) ||
	    unwind_read_far(w, &fp, sizeof(fp), anchor + d->anchor_fp) || !sp || sp & 7)
		return UNWIND_NATIVE;
	/* not noted: it stands where the call has left it */
	if (!pc && unwind_read(w, &pc, sizeof(pc), sp - 8))
		return UNWIND_NATIVE;
	if (!hotspot_is_code(d, pc))
		return UNWIND_NATIVE;
	w->restart.found_pc = pc;
	w->restart.found_sp = sp;
	w->restart.found_fp = fp;
	w->restart.fp_known = fp != 0;
	return UNWIND_MOVED;
}

#endif
