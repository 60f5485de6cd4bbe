/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_LANES_ABI_H
#define BPF_LANES_LANES_ABI_H

/*
 * What all that has lanes have in common: goroutines, tasks of asyncio, virtual threads of Java.
 * They run on threads by turns.
 */

#include "bpf/capture/abi.h"

/* What has happened in a turn. */
enum lane_flags {
	LANE_TURN = 1,
	LANE_BEGINS = 2, /* its owner was made in it */
	LANE_ENDS = 4,
	LANE_GAVE_WAY = 8, /* it could have run on */
	LANE_BEFORE = 16,  /* it was there before there were probes, and had not been seen */
	LANE_UNWOKEN = 32, /* not seen when it was made ready: it may have been before woken */
};

struct lane_key {
	__u64 at; /* an address, used again for later ones, or a number */
	__u32 pid;
	__u32 exec_id; /* UNWIND_ANY_EXEC: user space has found it */
};

/*
 * A turn, from when one runs (since; 0: it did not) to when it runs again, or ends. It waits from
 * out on, and could run from woken on. Times are CLOCK_MONOTONIC.
 */
struct lane_turn {
	__u64 number; /* whose turn it is: no other one of the process has it */
	__u64 since;
	__u64 out;	   /* 0: it runs */
	__u64 woken;	   /* 0: that was not seen */
	__u64 readier;	   /* the number of the one that made it ready; 0: none did */
	__u32 thread, cpu; /* it runs there since then */
	__u32 readier_thread;
	__u8 flags;	/* enum lane_flags */
	__u8 reason;	/* what it waits for: each source has numbers of its own */
	__u8 undecided; /* as in its identity */
	__u8 unused;
};

/* The record of a turn that is over. */
struct lane_record {
	struct capture_head head;
	struct capture_identity identity; /* of the thread that tells */
	__u64 in;			  /* when it runs again, or has ended */
	struct lane_turn turn;		  /* woken is known, as LANE_UNWOKEN has it */
};

#endif
