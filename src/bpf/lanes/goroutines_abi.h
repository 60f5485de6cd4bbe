/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_GOROUTINES_ABI_H
#define BPF_LANES_GOROUTINES_ABI_H

/* What goroutines.bpf.c tells of waits of goroutines. */

#include "bpf/lanes/lanes_abi.h"

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
	__u64 since; /* when its probes were set; until they are: when that began */
};

/* What is about to be told of a goroutine; as in struct goroutines_wait. */
struct goroutines_report {
	__u64 time;
	__u64 out, woken, in;
	__u64 short_waited, short_ready;
	__u32 short_waits, short_readies;
	__u32 reports;
	__u32 lane; /* enum lane_flags; 0: nothing is to be told of its lane */
};

/* A goroutine, by the address of the runtime's record. */
struct goroutines_state {
	/*
	 * It waits since turn.out, and the runtime's waitReason says what for. Of lanes only: its
	 * number, once a turn was reported, when it began to run and where, and which goroutine
	 * made it ready.
	 */
	struct lane_turn turn;
	__u64 quiet_until; /* its last stack could not be sent: none is taken before */
	__u64 short_waited, short_ready; /* as in struct goroutines_wait */
	__u32 short_waits, short_readies;
	__u32 image;
	char readier_comm[16]; /* of turn.readier_thread */
	__u8 has_readier_stack;
	__u8 is_before; /* it waited before there were probes */
	__u8 unused[2];
	/* the kernel side's own, here since its stack has no room for it */
	struct goroutines_report told;
};

/* Which parts of a wait its record stands for. */
enum goroutines_reports {
	GOROUTINES_REPORTS_WAIT = 1,
	GOROUTINES_REPORTS_READY = 2,
};

/* The runtime's number of a reason has a byte: none. */
#define GOROUTINES_NO_REASON 255

/*
 * Waiting lasted from turn.out to turn.woken, and from then to in it could have run, but no thread
 * had taken it yet; if who made it ready was not seen, woken is in.
 */
struct goroutines_wait {
	/*
	 * number 0: it could not be read; flags 0: nothing of its lane is here; reason: the
	 * runtime's waitReason, GOROUTINES_NO_REASON
	 */
	struct lane_turn turn;
	__u64 in;
	__u64 g; /* address */
	/* shorter ones that are not told of one by one, if a period of them is complete; else 0 */
	__u64 short_waited, short_ready;
	__u32 short_waits, short_readies;
	__u32 image;
	char readier_comm[16];
	__u8 reports; /* enum goroutines_reports */
	__u8 has_readier_stack;
	__u8 is_before; /* it waited before there were probes */
	__u8 unused;
};

#define GOROUTINES_WAIT_WORDS (sizeof(struct goroutines_wait) / 8)

/* How the stack with which a goroutine was made ready is found. */
static inline __u64 goroutines_readier_key(__u64 g, __u64 time)
{
	return g * 31 + time;
}

#endif
