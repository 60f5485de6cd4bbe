/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OFF_CPU_ABI_H
#define BPF_SCHED_OFF_CPU_ABI_H

/* What sched.bpf.c tells of waits. */

#include "bpf/capture/abi.h"
#include "bpf/sched/lock_abi.h"

enum {
	/*
	 * A wait that has ended: a capture_record, its frames, and a struct off_cpu_wait. Its key
	 * is the number of the thread (threads_abi.h) whose slice has the stack, too; 0: none has.
	 */
	OFF_CPU_WAIT = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 1),
	/*
	 * The stack of a thread that ends a wait: a capture_record; its key is the tid that is
	 * woken.
	 */
	OFF_CPU_WAKER = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 2),
	/* What is left of a thread that has ended: as OFF_CPU_WAIT, without frames. */
	OFF_CPU_REST = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 3),
	/*
	 * From the list of tasks: a thread that waits still. A capture_handover without a copy,
	 * with the registers that it waits with, and behind it the same as OFF_CPU_WAIT, without
	 * user frames.
	 */
	OFF_CPU_STILL = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 4),
	/*
	 * It waits still as it did when OFF_CPU_STILL reported that in the same film: the same
	 * without frames, registers and evidence.
	 */
	OFF_CPU_GOES_ON = CAPTURE_KIND(CAPTURE_SOURCE_SCHED, 5),
};

/* What the list of tasks is read for. */
enum sched_listing {
	SCHED_LIST_BEGIN,   /* nothing is reported: threads that wait are known from then on */
	SCHED_LIST_WAITING, /* OFF_CPU_STILL of all that wait, or have sums left to report */
	SCHED_LIST_THREADS, /* THREADS_LISTED (threads_abi.h) of all */
	SCHED_LIST_THREADS_STACKS, /* the same with the stacks of those that wait */
};

/* Where a thread was woken from. */
enum off_cpu_context {
	OFF_CPU_BY_NOBODY, /* not seen */
	OFF_CPU_BY_THREAD,
	OFF_CPU_BY_INTERRUPT, /* whose current thread is an innocent one */
	OFF_CPU_BY_SOFTIRQ,
	OFF_CPU_BY_UNKNOWN, /* a thread or an interrupt */
	OFF_CPU_BY_TIMER,   /* the time was over that a socket has for this */
};

/* What a descriptor is of. */
enum off_cpu_descriptor {
	OFF_CPU_FD_NONE, /* there is none, or it is not known */
	OFF_CPU_FD_FILE,
	OFF_CPU_FD_DIRECTORY,
	OFF_CPU_FD_BLOCK_DEVICE,
	OFF_CPU_FD_DEVICE, /* of characters */
	OFF_CPU_FD_PIPE,
	OFF_CPU_FD_SOCKET,
	OFF_CPU_FD_UNIX_SOCKET,
	OFF_CPU_FD_EVENT,
	OFF_CPU_FD_TIMER,
	OFF_CPU_FD_SIGNAL,
	OFF_CPU_FD_EPOLL,
	OFF_CPU_FD_NOTIFY,
	OFF_CPU_FD_PROCESS,
	OFF_CPU_FD_IO_URING,
	OFF_CPU_FD_OTHER,
	OFF_CPU_FD_PATH, /* no descriptor, but a path that the system call is given */
};

/* linux/sched.h: what a thread's state was when it was switched out. 0: it could have run on. */
#define OFF_CPU_STATE_SLEEPS  0x0001
#define OFF_CPU_STATE_BLOCKED 0x0002
#define OFF_CPU_STATE_STOPPED 0x0004
#define OFF_CPU_STATE_TRACED  0x0008
#define OFF_CPU_STATE_DEAD    0x0080
#define OFF_CPU_STATE_WAKING  0x0200
#define OFF_CPU_STATE_NO_LOAD 0x0400
#define OFF_CPU_STATE_FROZEN  0x8000
#define OFF_CPU_STATE_ANY     0xffff

/*
 * Which parts of a wait its record stands for; what a part is not told of, the thread's sums have.
 */
enum off_cpu_reports {
	OFF_CPU_REPORTS_WAIT = 1,
	OFF_CPU_REPORTS_READY = 2,
};

/* The registers of a system call that tell what a thread waits for. */
#define OFF_CPU_ARGUMENTS 6

/* Shorter waits of a thread that are not told of one by one. */
struct off_cpu_sums {
	__u64 waited, ready;  /* ns */
	__u32 waits, readies; /* how many they were */
};

/*
 * A wait, and what tells what it was for. All times are CLOCK_MONOTONIC. Waiting lasted from out to
 * woken, and waiting for a CPU from then to in; a thread that could have run on waited for a CPU
 * all the time.
 */
struct off_cpu_wait {
	__u64 out, woken, in;
	struct off_cpu_sums sums; /* if this one completes a period of them; else 0 */
	__u64 arguments[OFF_CPU_ARGUMENTS];
	__s64 call; /* number of the system call; below 0: none, a fault or an interrupt */
	__u32 state;
	__u32 waker_pid, waker_tid;
	char waker_comm[16];
	__u8 in_iowait : 1, is_frozen : 1;
	__u8 waker_context;   /* enum off_cpu_context */
	__u8 has_waker_stack; /* an OFF_CPU_WAKER of time woken went before */
	__u8 is_kernel_thread;
	__u8 has_lock;	     /* a struct lock_evidence follows */
	__u8 waker_released; /* enum lock_released: known where locks are wanted */
	__u8 descriptor;     /* enum off_cpu_descriptor: of the system call's */
	__u8 reports;	     /* enum off_cpu_reports */
};

#define OFF_CPU_WAIT_WORDS (sizeof(struct off_cpu_wait) / 8)

/* The most words behind a record's frames. */
#define OFF_CPU_BEHIND_WORDS (OFF_CPU_WAIT_WORDS + LOCK_EVIDENCE_WORDS)

static inline __u32 off_cpu_words(const struct off_cpu_wait *wait)
{
	return wait->has_lock ? OFF_CPU_BEHIND_WORDS : OFF_CPU_WAIT_WORDS;
}

#endif
