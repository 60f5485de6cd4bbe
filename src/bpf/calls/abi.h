/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_ABI_H
#define BPF_CALLS_ABI_H

/*
 * The interface between the function tracer's probes and user space.
 *
 * The kernel side has a shadow stack of open calls for each thread. A frame is identified by the
 * stack pointer at the function's entry, not by a counter, which a lost event would shift for ever.
 * A call becomes a record when it ends, so the records of a thread are in post-order: children
 * before parents.
 */

#include "bpf/capture/abi.h"

/* Most open calls of one thread, over all of its stacks. */
#define CALLS_FRAMES_MAX 512

/*
 * Most parts of deep shadow stacks, for all threads and goroutines; each has 64 frames and is
 * allocated when needed.
 */
#define CALLS_PARTS_MAX 16384

/* Most stacks of one thread: its own, the alternate signal stack, coroutines. */
#define CALLS_LANES 8

/* Most goroutines that have made traced calls, over all processes. */
#define CALLS_GOROUTINES_MAX 4096

/*
 * The cookie of a probe.
 *
 *	bits 0-23	number of the function
 *	bits 24-31	enum calls_site
 *	bits 32-47	CALLS_FUNCTION_… flags
 *	bits 48-63	stack pointer at the function's entry - stack pointer at the probe, in words
 */
#define CALLS_FUNCTIONS_MAX (1u << 24)
#define CALLS_COOKIE(function, site, flags, words) \
	((__u64)(function) | (__u64)(site) << 24 | (__u64)(flags) << 32 | (__u64)(words) << 48)

enum calls_site {
	CALLS_SITE_ENTRY,  /* the function begins; with a session program also its return */
	CALLS_SITE_RETURN, /* the kernel's return probe: the function has returned */
	/* a "ret" instruction, or a jump to another function: the function returns next */
	CALLS_SITE_RET,
};

/* The code of a function: its entry probe is slide bytes after its beginning. size 0: not known. */
struct calls_body {
	__u32 slide, size;
};

/* Flags of a function, in the cookie of its entry. */
#define CALLS_FUNCTION_INFERRED 1u /* no exit probe: a later event shows its end */
/*
 * it runs on a goroutine, whose stack moves and changes threads; also in the cookies of its exits
 */
#define CALLS_FUNCTION_GO	2u
#define CALLS_FUNCTION_START_ON 4u    /* --start-on */
#define CALLS_FUNCTION_STOP_ON	8u    /* --stop-on */
#define CALLS_FUNCTION_UNDER	16u   /* --under: only calls below this one are recorded */
#define CALLS_FUNCTION_STACK	32u   /* --stack: the user stack is recorded at its entry */
#define CALLS_FUNCTION_HIDDEN	64u   /* only a trigger: its own calls are not recorded */
#define CALLS_FUNCTION_CALLER	1024u /* only calls from the program itself, not from libraries */
/* Go: after its stack was moved, it may be at its beginning again */
#define CALLS_FUNCTION_AGAIN  256u
#define CALLS_FUNCTION_RETURN 128u /* a separate return probe sees its end; set by uprobes.c */
/* of an exit, or an entry that is also an exit: it jumps to another function */
#define CALLS_FUNCTION_LEAVES 2048u
#define CALLS_FUNCTION_GUARDED \
	4096u /* a return is requested only while no signal handler can run */
/* whether it jumps to another function cannot be determined */
#define CALLS_FUNCTION_MAY_LEAVE 16384u
#define CALLS_FUNCTION_EMPTY	 8192u /* its first instruction is "ret": it ends as it begins */

enum {
	CAPTURE_TRACK = CAPTURE_KIND(CAPTURE_SOURCE_CALLS, 0), /* a thread that calls */
	CAPTURE_CALL,					       /* a call that has ended */
	CAPTURE_CALL_ENTRY,				       /* a call that has begun */
	/* several CAPTURE_CALL and CAPTURE_CALL_ENTRY, which follow the head unchanged */
	CAPTURE_CALLS,
	CAPTURE_CALL_STACK, /* --stack: a capture_record with the user stack of a call */
};

/*
 * CAPTURE_CALL: a call has ended at head.time. CAPTURE_CALL_ENTRY, if requested: a call has begun;
 * head.time equals start.
 */
struct calls_record {
	struct capture_head head;
	__u32 track; /* number of the thread and stack: a CAPTURE_TRACK preceded */
	__u32 function;
	__u64 start;
	__u64 waited; /* ns between start and end that the thread was off CPU */
	__u16 depth;  /* number of open calls around it on the same stack; 0: the outermost */
	__u16 cpu;
	__u32 flags; /* CALLS_… */
};

#define CALLS_GAP      1u /* records of this thread were lost before this one */
#define CALLS_INFERRED 2u /* its return was not seen: it ended at this time or earlier */
#define CALLS_OPEN     4u /* still open when the thread, its program or the recording ended */
/* enclosing calls with CALLS_INFERRED may have ended before it began */
#define CALLS_UNKNOWN 8u

/* CAPTURE_TRACK: the thread of a track. Sent again if the thread's program changes. */
struct calls_track {
	struct capture_head head;
	struct capture_identity identity; /* key: for a goroutine the address of its g */
	__u32 track;
	__u32 lane; /* 0: the stack on which the thread was first seen */
};

/* Buckets by powers of two of ns; the last one has all longer calls. */
#define CALLS_BUCKETS 40

/* The sums of a function for --summary, per CPU. Times in ns. */
struct calls_sum {
	__u64 calls, total, self, waited, min, max;
	__u64 recursive; /* ns of total within another call of the same function on that stack */
	__u64 inferred;	 /* number of calls with CALLS_INFERRED */
	__u32 buckets[CALLS_BUCKETS];
};

/*
 * The sums are in parts of this many functions, which user space allocates when functions are
 * added.
 */
#define CALLS_SUMS_PART	 256
#define CALLS_SUMS_PARTS 4096

#endif
