// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The steps of the runtimes, a function each: the verifier looks at it once, not at each place that
 * calls it.
 */
#include "capture.h"
#include "runtimes.h"

static __always_inline bool is_loaded(enum unwind_runtime runtime)
{
	return capture_runtimes >> runtime & 1;
}

/* Of a runtime that is not there, the stack says that its frames are missing. */
#define X(NAME, name)                                                          \
	int runtime_##name(struct capture_scratch *s)                          \
	{                                                                      \
		if (!s)                                                        \
			return UNWIND_NATIVE;                                  \
		return is_loaded(UNWIND_RUNTIME_##NAME)                        \
			       ? name##_step(&s->walk)                         \
			       : unwind_miss(&s->walk, UNWIND_RUNTIME_##NAME); \
	}
UNWIND_RUNTIMES(X)
#undef X

#define X(NAME, name)                                                                   \
	int restart_##name(struct capture_scratch *s)                                   \
	{                                                                               \
		return s && is_loaded(UNWIND_RUNTIME_##NAME) ? name##_restart(&s->walk) \
							     : UNWIND_NATIVE;           \
	}
UNWIND_RESTARTS(X)
#undef X

char LICENSE[] SEC("license") = "Dual BSD/GPL";
