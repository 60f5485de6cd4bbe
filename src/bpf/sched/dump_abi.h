/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_DUMP_ABI_H
#define BPF_SCHED_DUMP_ABI_H

/* What dump.bpf.c tells of threads. */

#include "bpf/sched/off_cpu_abi.h"

enum {
	/* A thread: a capture_record, the kernel's frames, and a struct dump_thread. */
	DUMP_THREAD = CAPTURE_KIND(CAPTURE_SOURCE_DUMP, 0),
	/* Whether the same thread has run since: a struct dump_check. */
	DUMP_CHECK = CAPTURE_KIND(CAPTURE_SOURCE_DUMP, 1),
};

/* What the list of tasks is read for. */
enum dump_listing {
	DUMP_LIST_ALL,	 /* DUMP_THREAD of all that were not yet found to be still */
	DUMP_LIST_LAST,	 /* the same, without the stacks that user space would walk */
	DUMP_LIST_CHECK, /* DUMP_CHECK of those that were listed last */
};

struct dump_thread {
	struct off_cpu_wait wait; /* its evidence and state, and no more */
	__u64 since;		  /* ns for which it has not run, to within some ms; 0: not known */
	__u8 runs;		  /* on a CPU: it has no frames */
	__u8 unused[7];
};

#define DUMP_THREAD_WORDS (sizeof(struct dump_thread) / 8)

struct dump_check {
	struct capture_head head;
	__u64 thread_start;
	__u32 tid;
	__u32 is_still; /* it has not run since it was listed: what was read meanwhile is true */
};

#endif
