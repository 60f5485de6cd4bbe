/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_GOROUTINES_ABI_H
#define BPF_GOROUTINES_ABI_H

/* What goroutines.bpf.c tells of waits of goroutines. */

#include "capture_abi.h"

enum {
	/* A wait that has ended: a capture_record, its frames, and a struct goroutines_wait. */
	GOROUTINES_WAIT = CAPTURE_KIND(CAPTURE_SOURCE_GOROUTINES, 0),
	/*
	 * The stack with which another one was made ready: a capture_record. Its key is the one's
	 * that was, its time the moment.
	 */
	GOROUTINES_READIER = CAPTURE_KIND(CAPTURE_SOURCE_GOROUTINES, 1),
};

/* Which function a probe is in: the lowest bits of its cookie. */
enum goroutines_place {
	GOROUTINES_PARK,    /* runtime.gopark: a goroutine begins to wait */
	GOROUTINES_READY,   /* runtime.ready: one could go on */
	GOROUTINES_EXECUTE, /* runtime.execute: one goes on */
	GOROUTINES_PLACES_OF_WAITS,
	/* of lanes only; what a version lacks is left out: */
	GOROUTINES_RUNQPUT =
		GOROUTINES_PLACES_OF_WAITS, /* runtime.runqput: made, ready, or gave way;
							  then there is none in ready() */
	GOROUTINES_SCHED,   /* runtime.goschedImpl: one gave way, or was preempted */
	GOROUTINES_STOP,    /* runtime.preemptPark: one is stopped for its stack to be scanned */
	GOROUTINES_SYSCALL, /* runtime.exitsyscall0: one comes back, and there is no room for it */
	GOROUTINES_INJECT,  /* runtime.injectglist: those that the network poller found ready */
	GOROUTINES_EXIT,    /* runtime.goexit0: one has ended */
	GOROUTINES_PLACES,
};

/* The other bits are the number of the image. */
#define GOROUTINES_COOKIE(image, place) ((__u64)(image) << 4 | (place))
#define GOROUTINES_IMAGE(cookie)	((__u32)((cookie) >> 4))
#define GOROUTINES_PLACE(cookie)	((cookie)&15)

#define GOROUTINES_IMAGES_MAX		256    /* programs */
#define GOROUTINES_MAX			262144 /* goroutines */

/* A program that Go has built. */
struct goroutines_image {
	/* offsets in the runtime's g: its number, why it waits, and where it goes on */
	__u32 goid, reason, sp, pc, fp;
	__u32 curg; /* in the runtime's m: the goroutine that it works for */
	/* where gopark() lies: from the probe in execute() on, and how many bytes it has */
	__s64 park_at;
	__u64 park_size;
	__u64 since; /* when its probes were set */
};

struct goroutines_key {
	__u64 g; /* address of the runtime's record; used again for later ones */
	__u32 pid, exec_id;
};

/* What is about to be told of a goroutine; as in struct goroutines_wait. */
struct goroutines_told {
	__u64 time;
	__u64 out, woken, in;
	__u64 short_waited, short_ready;
	__u32 short_waits, short_readies;
	__u32 tells;
	__u32 lane; /* enum goroutines_lane; 0: nothing is to be told of its lane */
};

/* A goroutine, by its key. */
struct goroutines_state {
	__u64 out;	   /* when it began to wait; 0: it does not */
	__u64 woken;	   /* when it was made ready; 0: that was not seen */
	__u64 quiet_until; /* its last stack could not be sent: none is taken before */
	__u64 short_waited, short_ready; /* as in struct goroutines_wait */
	__u32 short_waits, short_readies;
	__u32 readier; /* the thread that made it ready; 0: not seen */
	__u32 image;
	char readier_comm[16];
	__u8 reason;
	__u8 has_readier_stack;
	__u8 undecided; /* as in its identity */
	__u8 is_before; /* it waited before there were probes */
	__u8 lane; /* of lanes: enum goroutines_lane, what has happened since it began to run */
	__u8 unused[3];
	/* of lanes: */
	__u64 since;	    /* when it began to run; 0: it has not */
	__u64 goid;	    /* once a turn was reported; else 0 */
	__u64 readier_goid; /* of the goroutine that made it ready; 0: none, or not known */
	__u32 thread, cpu;  /* it runs there since */
	/* the kernel side's own, here since its stack has no room for it */
	struct goroutines_told told;
};

/* Of the turn of a goroutine, from when it runs to when it runs again, or ends. */
enum goroutines_lane {
	GOROUTINES_LANE_TURN = 1,
	GOROUTINES_LANE_BEGINS = 2, /* it was made in it */
	GOROUTINES_LANE_ENDS = 4,
	GOROUTINES_LANE_GAVE_WAY = 8, /* it could have run on */
	GOROUTINES_LANE_BEFORE =
		16, /* it was there before there were probes, and had not been seen */
	GOROUTINES_LANE_UNWOKEN =
		32, /* not seen when it was made ready: it may have been before woken */
};

/* Which parts of a wait its record stands for. */
enum goroutines_tells {
	GOROUTINES_TELLS_WAIT = 1,
	GOROUTINES_TELLS_READY = 2,
};

/* The runtime's number of a reason has a byte: none. */
#define GOROUTINES_NO_REASON 255

/*
 * Waiting lasted from out to woken, and from then to in it could have run, but no thread had taken
 * it yet; if who made it ready was not seen, woken is in. All times are CLOCK_MONOTONIC.
 */
struct goroutines_wait {
	__u64 out, woken, in;
	__u64 g, goid; /* address and number; goid 0: it could not be read */
	/* shorter ones that are not told of one by one, if a period of them is complete; else 0 */
	__u64 short_waited, short_ready;
	__u32 short_waits, short_readies;
	__u32 readier, image;
	char readier_comm[16];
	__u8 reason; /* the runtime's waitReason; GOROUTINES_NO_REASON */
	__u8 tells;  /* enum goroutines_tells */
	__u8 has_readier_stack;
	__u8 is_before; /* it waited before there were probes */
	__u8 lane;	/* enum goroutines_lane; 0: nothing of its lane is here */
	__u8 unused[3];
	/* of its lane: when it began to run, 0: it did not, and where */
	__u64 since, readier_goid;
	__u32 thread, cpu;
};

#define GOROUTINES_WAIT_WORDS (sizeof(struct goroutines_wait) / 8)

/* How the stack with which a goroutine was made ready is found. */
static inline __u64 goroutines_readier_key(__u64 g, __u64 time)
{
	return g * 31 + time;
}

#endif
