/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_VTHREADS_ABI_H
#define BPF_LANES_VTHREADS_ABI_H

/* What vthreads.bpf.c tells of the virtual threads of Java. */

#include "bpf/lanes/lanes_abi.h"

enum {
	/* A turn that is over: a struct vthreads_turn. */
	VTHREADS_TURN = CAPTURE_KIND(CAPTURE_SOURCE_VTHREADS, 0),
	/* The stack with which one waits: a capture_record. Its key is vthreads_stack_key(). */
	VTHREADS_STACK = CAPTURE_KIND(CAPTURE_SOURCE_VTHREADS, 1),
	/* A process can run virtual threads from now on: a struct vthreads_ready. */
	VTHREADS_READY = CAPTURE_KIND(CAPTURE_SOURCE_VTHREADS, 2),
};

/* What happens at a probe in libjvm.so: its cookie. */
enum vthreads_place {
	/* freeze() returns: if that is 0, what the thread runs was unmounted */
	VTHREADS_FROZEN,
	/* Continuation::prepare_thaw() begins: what was unmounted is mounted, or a part of its
	   stack comes back */
	VTHREADS_THAWS,
	/* ObjectMonitor::vthread_monitor_enter() begins: it was unmounted, for a monitor */
	VTHREADS_ENTERS,
	/* ObjectMonitor::vthread_wait() begins: it was unmounted, in Object.wait() */
	VTHREADS_AWAITS,
	/* ObjectMonitor::resume_operation() returns: it has the monitor, or goes on waiting */
	VTHREADS_RESUMED,
	/* ContinuationEntry::set_enter_code() returns: there is code that runs them */
	VTHREADS_MADE,
	/* java_lang_VirtualThread::set_onWaitingList() begins: what waited for a monitor, or was
	   notified and waited for it then, can run */
	VTHREADS_WAKES,
	VTHREADS_PLACES,
};

#define VTHREADS_MAX	       262144 /* virtual threads */
#define VTHREADS_PROCESSES_MAX 1024

/* A process, by its pid. Offsets are in bytes; 0: it is not read. */
struct vthreads_process {
	/*
	 * addresses in the code that runs them (Continuation.enterSpecial): where one is mounted
	 * for the first time, and where it has ended
	 */
	__u64 first, end;
	__u64 since;  /* when all of its probes were set */
	__u64 base;   /* of a reference of 4 bytes: its object is at base + (it << shift) */
	__u32 number; /* JavaThread: the number of the java.lang.Thread that it runs */
	__u32 object; /* JavaThread: a pointer to a pointer to that */
	__u16 name;   /* java.lang.Thread: a String */
	__u16 state;  /* java.lang.VirtualThread: 4 bytes */
	__u16 value;  /* String: its bytes; */
	__u16 coder;  /* a byte, 0: they are Latin 1 */
	__u16 length; /* array: 4 bytes; what is in it is behind them */
	__u8 shift;
	__u8 is_narrow; /* references have 4 bytes */
	__u16 tid;	/* java.lang.Thread: its number */
	__u16 unused;
};

/* What one waits for. */
enum vthreads_reason {
	VTHREADS_FOR_OTHER,
	VTHREADS_FOR_PARK,	 /* LockSupport.park() */
	VTHREADS_FOR_TIMED_PARK, /* the same, for a time at most */
	VTHREADS_FOR_MONITOR,
	VTHREADS_FOR_NOTIFY, /* Object.wait() */
	VTHREADS_REASONS,
};

#define VTHREADS_NAME_MAX 32

/* One, by its number. */
struct vthreads_state {
	struct lane_turn turn;
	char name[VTHREADS_NAME_MAX]; /* "": it has none, or it is not known */
};

struct vthreads_turn {
	struct lane_record record;    /* its reason: enum vthreads_reason */
	char name[VTHREADS_NAME_MAX]; /* as in its state */
};

struct vthreads_ready {
	struct capture_head head;
	__u32 pid, unused;
};

/* How the stack with which one waits is found. */
static inline __u64 vthreads_stack_key(__u64 number, __u64 out)
{
	return number * 31 + out;
}

#endif
