/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_THREADS_ABI_H
#define BPF_THREADS_ABI_H

/* What threads.bpf.c tells of threads. */

#include "off_cpu_abi.h"

enum {
	/* A thread: a capture_record, the kernel's frames, and a struct threads_thread. */
	THREADS_THREAD = CAPTURE_KIND(CAPTURE_SOURCE_THREADS, 0),
	/* Whether the same thread has run since: a struct threads_check. */
	THREADS_CHECK = CAPTURE_KIND(CAPTURE_SOURCE_THREADS, 1),
};

/* What the list of tasks is read for. */
enum threads_listing {
	THREADS_LIST_ALL,   /* THREADS_THREAD of all that were not yet found to be still */
	THREADS_LIST_LAST,  /* the same, without the stacks that user space would walk */
	THREADS_LIST_CHECK, /* THREADS_CHECK of those that were listed last */
};

struct threads_thread {
	struct off_cpu_wait wait; /* its evidence and state, and no more */
	__u64 since;		  /* ns for which it has not run, to within some ms; 0: not known */
	__u8 runs;		  /* on a CPU: it has no frames */
	__u8 unused[7];
};

#define THREADS_THREAD_WORDS (sizeof(struct threads_thread) / 8)

struct threads_check {
	struct capture_head head;
	__u64 thread_start;
	__u32 tid;
	__u32 is_still; /* it has not run since it was listed: what was read meanwhile is true */
};

#endif
