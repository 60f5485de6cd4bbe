// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The programs that walk stacks, one for each place that programs are called from
 * (CAPTURE_WALKERS).
 * Each is loaded without the steps of runtimes, and once more for each runtime that a process turns
 * out to have, with that one's step (attach/walkers.c): so the largest has the walk and one step,
 * however many runtimes there are.
 */
#include "bpf/capture/walk.h"
#include "bpf/runtime/otel/otel.h"
#include "bpf/unwind/runtimes.h"

/*
 * The steps, a function each: the verifier looks at it once, not at each place that calls it. Where
 * a step can be had nowhere, the stack says that the runtime's frames are missing.
 */
#define X(NAME, name)                                                                          \
	int runtime_##name(struct capture_scratch *s)                                          \
	{                                                                                      \
		int has;                                                                       \
                                                                                               \
		if (!s)                                                                        \
			return UNWIND_NATIVE;                                                  \
		has = capture_has_step(&s->walk, UNWIND_RUNTIME_##NAME);                       \
		if (has == UNWIND_NATIVE)                                                      \
			return name##_step(&s->walk);                                          \
		return has == UNWIND_ELSEWHERE ? has                                           \
					       : unwind_miss(&s->walk, UNWIND_RUNTIME_##NAME); \
	}
UNWIND_RUNTIMES(X)
#undef X

#define X(NAME, name)                                                    \
	int restart_##name(struct capture_scratch *s)                    \
	{                                                                \
		int has;                                                 \
                                                                         \
		if (!s)                                                  \
			return UNWIND_NATIVE;                            \
		has = capture_has_step(&s->walk, UNWIND_RUNTIME_##NAME); \
		if (has == UNWIND_NATIVE)                                \
			return name##_restart(&s->walk);                 \
		return has == UNWIND_ELSEWHERE ? has : UNWIND_NATIVE;    \
	}
UNWIND_RESTARTS(X)
#undef X

#define X(NAME, name, section)                                                   \
	SEC(section)                                                             \
	int walker_##name(void *ctx)                                             \
	{                                                                        \
		return capture_walker(ctx, &walk_##name, CAPTURE_WALKER_##NAME); \
	}
CAPTURE_WALKERS(X)
#undef X

_Static_assert((int)UNWIND_RUNTIME_COUNT <= (int)CAPTURE_DONE_NONE, "entries of walk_…");

char LICENSE[] SEC("license") = "Dual BSD/GPL";
