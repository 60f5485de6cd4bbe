/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_FRAME_H
#define BPF_RUNTIME_HOTSPOT_FRAME_H

/* What frames of compiled code and of the interpreter have in common; see hotspot.h. */

#include "bpf/runtime/hotspot/abi.h"
#include "bpf/unwind/unwind.h"

/*
 * The short stack of BPF is shared by the functions that do not call each other: these are not
 * inlined.
 */
#define HOTSPOT_APART static __attribute__((noinline))

/* No frame of an interpreter or a stub is larger. */
#define HOTSPOT_FRAME_MAX (1u << 20)

static __always_inline int hotspot_is_code(const struct hotspot_data *d, __u64 at)
{
	return at - d->code_start < d->code_end - d->code_start;
}

static __always_inline __u64 hotspot_guess(const struct unwind_walk *w)
{
	return w->guess ? UNWIND_GUESS : 0;
}

static __always_inline int hotspot_end(struct unwind_walk *w, enum unwind_end end)
{
	unwind_stop(w, end);
	return UNWIND_ENDED;
}

static __always_inline int hotspot_return(struct unwind_walk *w, __u64 pc, __u64 sp, __u64 fp,
					  __u8 guess)
{
	w->guess = guess;
	w->saved_at = UNWIND_SAVED_UNKNOWN;
	return unwind_return_to(w, pc, sp, fp) ? UNWIND_ENDED : UNWIND_MOVED;
}

#endif
