// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The steps of the runtimes, a function each: the verifier looks at it once, not at each place that
 * calls it.
 */
#include "capture.h"
#include "runtimes.h"

#define X(NAME, name)                                             \
	int runtime_##name(struct capture_scratch *s)             \
	{                                                         \
		return s ? name##_step(&s->walk) : UNWIND_NATIVE; \
	}
UNWIND_RUNTIMES(X)
#undef X

#define X(NAME, name)                                                \
	int restart_##name(struct capture_scratch *s)                \
	{                                                            \
		return s ? name##_restart(&s->walk) : UNWIND_NATIVE; \
	}
UNWIND_RESTARTS(X)
#undef X

char LICENSE[] SEC("license") = "Dual BSD/GPL";
