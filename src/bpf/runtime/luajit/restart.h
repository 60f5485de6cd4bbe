/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUAJIT_RESTART_H
#define BPF_RUNTIME_LUAJIT_RESTART_H

/*
 * LuaJIT's newest frame, where native frames above it cannot be walked (see restart.h).
 *
 * Native code is called by the interpreter, which stands in a cframe (luajit.h): the return address
 * lies right below that. Or it is called by compiled code (an FFI call): that return address lies
 * in memory that LuaJIT has made code in, below the cframe that the code runs in. In both cases the
 * cframe is known by its lua_State, which knows it.
 */

#include "bpf/runtime/luajit/luajit.h"

/* Words that are looked at in one step, and in all. */
#define LUAJIT_SCAN_WORDS     256
#define LUAJIT_SCAN_WORDS_MAX 16384

struct luajit_search {
	struct unwind_walk *walk;
	const struct luajit_data *data;
	__u64 at, to; /* of the word that is looked at next; not up to that one */
	__u64 found;
};

/* For unwind_repeat(): whether a word is the address behind a call that may be LuaJIT's. */
static long luajit_search(__u32 i, void *context)
{
	struct luajit_search *scan = context;
	const struct luajit_data *data = scan->data;
	__u64 value;

	(void)i;
	if (scan->at >= scan->to)
		return 1;
	if (unwind_read(scan->walk, &value, sizeof(value), scan->at)) {
		scan->at = scan->to;
		return 1;
	}
	scan->at += 8;
	/* compiled code is within reach of a jump */
	if (value - data->vm + (1ull << 31) >= 1ull << 32 ||
	    (value - data->image < data->image_size && value - data->vm >= data->vm_size) ||
	    !unwind_is_called(scan->walk, value))
		return 0;
	scan->found = value;
	return 1;
}

static __always_inline int luajit_restart(struct unwind_walk *w)
{
	const struct luajit_data *d = unwind_data(w);
	struct luajit_state *lua = (struct luajit_state *)w->piece;
	struct unwind_restart *r = &w->restart;
	struct luajit_search scan = {.walk = w, .data = d};
	int is_it = 0;

	if (!d || r->why != UNWIND_RESTART_ENDED)
		return UNWIND_NATIVE;
	scan.at = r->found_sp ? r->found_sp : w->sp & ~7ull;
	scan.to = (w->sp & ~7ull) + 8 * LUAJIT_SCAN_WORDS_MAX;
	OPAQUE(scan.at);
	unwind_repeat(LUAJIT_SCAN_WORDS, luajit_search, &scan);
	if (scan.found) {
		if (scan.found - d->vm < d->vm_size)
			is_it = luajit_is_cframe(w, scan.at, 0, lua);
		else
			is_it = unwind_enter_mapping(w, scan.found) &&
				w->mapping.runtime == UNWIND_RUNTIME_LUAJIT &&
				w->mapping.data == w->home_data;
	}
	if (is_it) {
		w->state[UNWIND_RUNTIME_LUAJIT][1] = 0;
		r->found_pc = scan.found;
		r->found_sp = scan.at;
		r->fp_known = 0;
		return UNWIND_MOVED;
	}
	if (scan.at >= scan.to)
		return UNWIND_NATIVE;
	r->found_sp = scan.at;
	return UNWIND_AGAIN;
}

#endif
