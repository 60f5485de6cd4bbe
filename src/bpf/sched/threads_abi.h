/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_THREADS_ABI_H
#define BPF_SCHED_THREADS_ABI_H

/*
 * What sched.bpf.c tells of the lives of threads. Threads have numbers of its own, from 1, each
 * for one thread only, even when its tid is used again.
 */

#include "bpf/sched/object_abi.h"
#include "bpf/sched/off_cpu_abi.h"

enum {
	/*
	 * A thread, before its other records, and again when it has another name: a
	 * capture_record without frames; its key is the thread's number. Its value is 0 if it is
	 * not meant, and only has woken one that is; else when it executed its program, or 1.
	 */
	THREADS_NEW = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 6),
	/*
	 * The stack of a wait: key: the thread's number, value: when the thread came in again.
	 * Behind it, of a wait in futex(2) or for the lock of a file, a struct threads_lock.
	 */
	THREADS_STACK = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 7),
	/* From the list of tasks: as OFF_CPU_STILL, with a struct threads_listed. */
	THREADS_LISTED = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 8),
};

/*
 * Each CPU writes a log of its switches, which user space maps: words, at positions that only grow.
 * Where there is no room, a record is lost.
 */
struct threads_log {
	__u64 head; /* of words, written */
	__u64 lost; /* records */
	__u64 unused[6];
	__u64 tail; /* of words, read: user space's */
	__u64 unused_too[7];
	/* the words */
};

/* Of a system call, those that are reported. */
#define THREADS_CALL_ARGUMENTS 4

/* The most words of a record. */
#define THREADS_RECORD_WORDS_MAX 10

/* Of a record's time: it is a struct threads_waking. */
#define THREADS_IS_WAKING (1ull << 63)

struct threads_waking {
	__u64 time; /* and THREADS_IS_WAKING */
	__u32 thread;
	/*
	 * It waits for new events: the object of the first descriptor that has one (of poll(2) and
	 * select(2): of the one that wakes it; of io_uring: of the entry); 0: not known.
	 */
	__u32 ready;
};

enum threads_flag {
	THREADS_ARGUMENTS = 1,	  /* four words behind it: they differ from prev's last ones */
	THREADS_NEW_OBJECT = 128, /* then one: what prev waits for is another object than last */
	THREADS_LONG_READY = 2,	  /* and then one: ready, which is too long */
	THREADS_UNWOKEN = 4,	  /* not known when next was woken */
	THREADS_HAS_STACK = 8,	  /* a THREADS_STACK of next follows, for the wait that is over */
	THREADS_IOWAIT = 16,	  /* of prev: for a disk; */
	THREADS_IS_KERNEL = 32,	  /* it is a thread of the kernel; */
	THREADS_IS_FROZEN = 64,
};

/*
 * A switch. A thread that is not meant, and the idle one, is 0. There is no record between two of
 * them, unless a thread that is meant came in there last, and was not seen since.
 */
struct threads_switch {
	__u64 time;
	__u32 prev, next;
	__u32 waker;			  /* of next; 0: not a thread, or not known */
	__u32 ready;			  /* ns since next was woken, or could have run on */
	__u16 state;			  /* of prev, OFF_CPU_STATE_; 0: it could run on */
	__u16 call;			  /* the system call that prev is in, and 1; 0: none */
	__u8 descriptor : 5, context : 3; /* of prev: enum off_cpu_descriptor; of next's waker */
	__u8 flags;			  /* enum threads_flag */
	/* the lowest bits of the number of their switches: one that was not seen shows */
	__u8 prev_count, next_count;
};

#define THREADS_SWITCH_WORDS (sizeof(struct threads_switch) / 8)

/* The lock that a thread may have waited for, of a futex or of a file. */
struct threads_lock {
	struct lock_evidence evidence;
	__u64 began;
	__u32 released; /* enum lock_released: by the thread that ended the wait, maybe */
	__u32 unused;
};

#define THREADS_LOCK_WORDS (sizeof(struct threads_lock) / 8)

/* A thread of the list. */
struct threads_listed {
	struct off_cpu_wait wait; /* nothing but the evidence, and the state */
	__u32 thread;
	__u8 runs;
	__u8 count;
	__u8 moved; /* it has run meanwhile: nothing of this counts */
	__u8 unused;
	__u32 cpu;
	__u32 object; /* 0: none, or not known */
	__u32 ready;  /* the object of an entry of io_uring that is in flight; 0: the same */
	__u32 unused_too;
};

#define THREADS_LISTED_WORDS (sizeof(struct threads_listed) / 8)

#endif
