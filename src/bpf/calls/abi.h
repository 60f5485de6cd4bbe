/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_ABI_H
#define BPF_CALLS_ABI_H

/*
 * What the function tracer's probes and user space tell each other.
 *
 * Calls are kept by the kernel side in a stack of its own for each thread, whose frames are known
 * by the stack pointer at the function's entry: not by a counter, which a lost event would shift
 * for ever. A call becomes a record when it ends, so records of a thread come in post-order:
 * children before parents.
 */

#include "bpf/capture/abi.h"

/* Frames of one thread that can be open at the same time, over all of its stacks. */
#define CALLS_FRAMES_MAX 512

/*
 * Parts of deep stacks, of all threads and goroutines; each holds 64 frames and is made when
 * needed.
 */
#define CALLS_PARTS_MAX 16384

/* Stacks of one thread: its own, the alternate signal stack, coroutines. */
#define CALLS_LANES 8

/* Goroutines that can have been seen calling, of all processes that are traced. */
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
	CALLS_SITE_RET,	   /* a "ret" instruction, or a jump to another function: it returns next */
};

/*
 * The code of a function: its entry probe lies slide bytes behind its beginning. size 0: not known.
 */
struct calls_body {
	__u32 slide, size;
};

/* Flags of a function, in the cookie of its entry. */
#define CALLS_FUNCTION_INFERRED 1u /* it has no exit probe: it ends when a later event shows it */
/* it runs on a goroutine: its stack moves, and changes threads; in the cookies of its exits too */
#define CALLS_FUNCTION_GO	2u
#define CALLS_FUNCTION_START_ON 4u    /* --start-on */
#define CALLS_FUNCTION_STOP_ON	8u    /* --stop-on */
#define CALLS_FUNCTION_UNDER	16u   /* --under: only calls below this one are kept */
#define CALLS_FUNCTION_STACK	32u   /* --stack: the user stack is taken at its entry */
#define CALLS_FUNCTION_HIDDEN	64u   /* only a trigger: its own calls are not kept */
#define CALLS_FUNCTION_CALLER	1024u /* only calls from the program itself, not from libraries */
/* Go: with its stack moved, it may be at its beginning again */
#define CALLS_FUNCTION_AGAIN  256u
#define CALLS_FUNCTION_RETURN 128u /* a return probe of its own sees its end; set by uprobes.c */
/* of an exit, or of an entry that is one, too: it jumps to another function */
#define CALLS_FUNCTION_LEAVES 2048u
#define CALLS_FUNCTION_GUARDED \
	4096u /* its return is asked for only while no signal handler can run */
/* that it jumps to another one is not to be seen, but may be */
#define CALLS_FUNCTION_MAY_LEAVE 16384u
#define CALLS_FUNCTION_EMPTY	 8192u /* it begins with its "ret": it ends as it begins */

enum {
	CAPTURE_TRACK = CAPTURE_KIND(CAPTURE_SOURCE_CALLS, 0), /* a thread that calls; */
	CAPTURE_CALL,					       /* a call that has ended, */
	CAPTURE_CALL_ENTRY,				       /* one that has begun, */
	CAPTURE_CALLS,	    /* several of these two: behind the head they follow as they are */
	CAPTURE_CALL_STACK, /* --stack: a capture_record with the user stack of a call */
};

/*
 * CAPTURE_CALL: a call has ended; head.time is when. CAPTURE_CALL_ENTRY, if asked for: it has
 * begun; head.time is start.
 */
struct calls_record {
	struct capture_head head;
	__u32 track; /* which thread and stack: CAPTURE_TRACK came before it */
	__u32 function;
	__u64 start;
	__u64 waited; /* ns between start and end in which the thread was on no CPU */
	__u16 depth;  /* open calls below it on the same stack; 0: the outermost */
	__u16 cpu;
	__u32 flags; /* CALLS_… */
};

#define CALLS_GAP      1u /* records of this thread were lost between its last one and this */
#define CALLS_INFERRED 2u /* no return was seen: it ended at this time or before */
#define CALLS_OPEN     4u /* it did not end: the thread, its program or the recording did */
/* of the calls around it, those that are CALLS_INFERRED may have ended before it began */
#define CALLS_UNKNOWN 8u

/* CAPTURE_TRACK: whose a track is. Sent again if the thread's program changes. */
struct calls_track {
	struct capture_head head;
	struct capture_identity identity; /* key: of a goroutine, the address of its g */
	__u32 track;
	__u32 lane; /* 0: the stack that the thread was first seen on */
};

/* Powers of two of ns; the last one holds all that is longer. */
#define CALLS_BUCKETS 40

/* What --summary keeps of a function, per CPU. Times in ns. */
struct calls_sum {
	__u64 calls, total, self, waited, min, max;
	__u64 recursive; /* of total: within another call of the same function on that stack */
	__u64 inferred;	 /* of calls: CALLS_INFERRED */
	__u32 buckets[CALLS_BUCKETS];
};

/* These lie in parts of this many functions, which user space makes as functions come. */
#define CALLS_SUMS_PART	 256
#define CALLS_SUMS_PARTS 4096

#endif
