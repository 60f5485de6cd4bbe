/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_DEATHS_ABI_H
#define BPF_SCHED_DEATHS_ABI_H

/* What deaths.bpf.c tells of threads whose process dies of a signal. */

#include "bpf/capture/abi.h"

enum {
	/*
	 * A capture_record: its key is the number of the signal and enum deaths_flag; its value is
	 * the address of a fault, or the pid of the sender. With DEATHS_OOM, a struct deaths_oom is
	 * behind its frames.
	 */
	DEATHS_THREAD = CAPTURE_KIND(CAPTURE_SOURCE_DEATHS, 0),
};

enum deaths_flag {
	DEATHS_SIGNAL = 0xff, /* the bits of its number */
	/* the thread was delivered that signal, or is the cause; else it ends with its process */
	DEATHS_OWN = 0x100,
	DEATHS_HAS_ADDRESS = 0x200,   /* the value is that of a fault */
	DEATHS_HAS_SENDER = 0x400,    /* it is a pid, as the sender's namespace has it */
	DEATHS_OOM = 0x800,	      /* the kernel kills it to get memory */
	DEATHS_SENDER_NAMED = 0x2000, /* its name is behind the frames: DEATHS_NAME bytes */
	DEATHS_PIPE = 0x1000,	      /* of SIGPIPE: the thread wrote to a pipe, not to a socket */
};

#define DEATHS_NAME 16

/* What the process had when it was killed for its memory, in bytes, about. */
struct deaths_oom {
	__u64 anonymous, files, shared, swapped;
	__u64 limit, used; /* of the control group that was full; 0: of none, but of the machine */
	char group[32];	   /* its name, cut */
};

#endif
