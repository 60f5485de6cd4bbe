/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUA_RESTART_H
#define BPF_RUNTIME_LUA_RESTART_H

/*
 * Lua's newest frame, where native frames above it cannot be walked (see restart.h).
 *
 * Nothing leads from a thread to its lua_State. But native code that Lua runs was called by Lua's
 * own code, which has unwind information (luaD_precall() for functions in C). So the stack is
 * searched upwards for an address in Lua's code behind a call. The frames that have made that call
 * keep lua_State: one of the words above must be the address of a thread that is in a call, whose
 * function lies on that thread's own stack.
 *
 * Words that no code has written since an inner call of Lua has ended can look like that, too.
 * Since 5.3 luaV_execute() says which CallInfo is its own, in a register that what it calls has
 * saved: so one of the words must be a CallInfo that is open, and when the walk comes to
 * luaV_execute(), its own must be (lua_begin()). Up to 5.2 lua_State alone says which functions
 * there are, and in which order; at worst, one stands on the wrong side of a native frame.
 */

#include "bpf/runtime/lua/lua.h"

/* Words that are looked at in one step, and in all. */
#define LUA_SCAN_WORDS	   256
#define LUA_SCAN_WORDS_MAX 16384
/* Words above the return address in which lua_State must be, and a CallInfo. */
#define LUA_STATE_WORDS 48
#define LUA_OPEN_WORDS	24

struct lua_scan {
	struct unwind_walk *walk;
	const struct lua_data *data;
	__u64 from, to; /* the words that are looked at */
	__u64 at;	/* behind the one that was looked at last */
	__u64 found;
};

/*
 * For unwind_repeat(): whether a word is the address behind a call in Lua. Where a word is follows
 * from i (python_scan() says why).
 */
static long lua_scan(__u32 i, void *context)
{
	struct lua_scan *scan = context;
	const struct lua_data *data = scan->data;
	__u64 at = scan->from + i * 8ull, value;

	scan->at = at + 8;
	if (at >= scan->to || unwind_read(scan->walk, &value, sizeof(value), at)) {
		scan->at = scan->to;
		return 1;
	}
	if (value - data->code >= data->code_size || !unwind_is_called(scan->walk, value) ||
	    (data->by_state && lua_is_execute(data, value - 1)))
		return 0;
	scan->found = value;
	return 1;
}

/*
 * Whether the lua_State whose words from offset 8 on are in w->piece is in a call: its CallInfo; 0:
 * it is not, or not a lua_State. As in lua_next_by_state(); of 5.1, a CallInfo begins with the
 * base.
 */
static __always_inline __u64 lua_in_call(const struct unwind_walk *w, __u32 version)
{
	const __u64 *lua = w->piece;
	__u64 ci = lua[version == 501 ? 4 : 3], word;
	__u64 stack_last = lua[version == 501 ? 6 : version < 504 ? 5 : 4];
	__u64 stack = lua[version == 501 ? 7 : version < 504 ? 6 : 5];

	if ((lua[0] & 0xff) != LUA_TAG_THREAD || ci & 7 ||
	    unwind_read_far(w, &word, sizeof(word), ci + (version == 501 ? 8 : 0)) ||
	    word < stack || word >= stack_last)
		return 0;
	/* a thread that has ended is in no call */
	if (version != 501 && (unwind_read_far(w, &word, sizeof(word), ci + 16) || !word))
		return 0;
	return ci;
}

/* For unwind_repeat(): whether a word is the address of a lua_State; found: its CallInfo. */
static long lua_look_for_state(__u32 i, void *context)
{
	struct lua_scan *scan = context;
	__u64 state;

	if (unwind_read(scan->walk, &state, sizeof(state), scan->from + i * 8ull))
		return 1;
	if (!state || state & 7 || state >> 47 ||
	    unwind_read_far(scan->walk, scan->walk->piece, 64, state + 8))
		return 0;
	scan->found = lua_in_call(scan->walk, scan->data->version);
	return scan->found != 0;
}

/* CallInfos that are looked for: the innermost open ones, in w->piece. */
#define LUA_INNERMOST 4

/* For unwind_repeat(): whether a word is one of these. */
static long lua_look_for_open(__u32 i, void *context)
{
	struct lua_scan *scan = context;
	const __u64 *open = scan->walk->piece;
	__u64 word;

	if (unwind_read(scan->walk, &word, sizeof(word), scan->from + i * 8ull))
		return 1;
	scan->found =
		word && (word == open[0] || word == open[1] || word == open[2] || word == open[3]);
	return scan->found != 0;
}

/* Puts the CallInfos from ci outwards into w->piece. */
static __always_inline void lua_innermost(struct unwind_walk *w, __u64 ci)
{
	__u32 i;

	for (i = 0; i < LUA_INNERMOST; i++) {
		w->piece[i] = ci;
		if (ci && unwind_read_far(w, &ci, sizeof(ci), ci + 16))
			ci = 0;
	}
}

static __always_inline int lua_restart(struct unwind_walk *w)
{
	const struct lua_data *d = unwind_data(w);
	struct unwind_restart *r = &w->restart;
	struct lua_scan scan = {.walk = w, .data = d};
	__u64 *remembered = w->state[UNWIND_RUNTIME_LUA];
	__u64 pc, sp, ci;

	if (!d || r->why != UNWIND_RESTART_ENDED)
		return UNWIND_NATIVE;
	scan.from = r->found_sp ? r->found_sp : w->sp & ~7ull;
	scan.to = (w->sp & ~7ull) + 8 * LUA_SCAN_WORDS_MAX;
	OPAQUE(scan.from);
	unwind_repeat(LUA_SCAN_WORDS, lua_scan, &scan);
	pc = scan.found;
	sp = scan.at;
	if (!pc && sp >= scan.to)
		return UNWIND_NATIVE;
	/* where the search goes on, if this is not it */
	r->found_sp = sp;
	if (!pc)
		return UNWIND_AGAIN;
	scan.from = sp;
	scan.found = 0;
	unwind_repeat(LUA_STATE_WORDS, lua_look_for_state, &scan);
	ci = scan.found && remembered[0] ? remembered[0] : scan.found;
	if (ci && !d->by_state) {
		lua_innermost(w, ci);
		scan.found = 0;
		unwind_repeat(LUA_OPEN_WORDS, lua_look_for_open, &scan);
	}
	if (!ci || !scan.found)
		return UNWIND_AGAIN;
	remembered[0] = ci;
	remembered[1] = LUA_RESTART;
	r->found_pc = pc;
	r->fp_known = 0;
	return UNWIND_MOVED;
}

#endif
