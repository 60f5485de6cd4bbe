/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_ABI_H
#define BPF_CAPTURE_ABI_H

/* What the probes put into the rings. */

#include "bpf/unwind/abi.h"

/* The most kernel frames of one stack: the kernel's own limit (perf_event_max_stack). */
#define CAPTURE_KERNEL_FRAMES_MAX 127

/*
 * This many bytes below the stack pointer are handed over with it: behind the "pop" of a register,
 * the unwind information still says that it lies where it was saved. (It is the red zone of the
 * System V ABI.)
 */
#define CAPTURE_BELOW 128

/*
 * A probe can be interrupted by another one on the same CPU: this many stacks are in the making at
 * most.
 */
#define CAPTURE_SCRATCHES 3

/* And this many where they are interrupted for longer: other threads run meanwhile. */
#define CAPTURE_SPARES 16

/* The most bytes of stack that are handed over with a stack that user space must finish. */
#define CAPTURE_COPY_MAX 65536

/*
 * The sources of events, one row each: NAME, name. name_… are the names of a source's programs and
 * maps, and source_name is its struct source_type (sources/source.h).
 *
 * Sources set their probes in this order, and of several probes at a place the kernel runs the one
 * that came last first: inspect looks for the call that the tracer has just seen begin.
 */
#define CAPTURE_SOURCES(X)        \
	X(ON_CPU, on_cpu)         \
	X(INSPECT, inspect)       \
	X(CALLS, calls)           \
	X(OFF_CPU, off_cpu)       \
	X(DUMP, dump)             \
	X(MEM_GROW, mem_grow)     \
	X(GOROUTINES, goroutines) \
	X(THREADS, threads)       \
	X(REQUESTS, requests)     \
	X(MEM_HEAP, mem_heap)     \
	X(RSS, rss)               \
	X(DEATHS, deaths)         \
	X(MACHINE, machine)       \
	X(TASKS, tasks)           \
	X(VTHREADS, vthreads)     \
	X(LOGS, logs)             \
	X(HBM, hbm)               \
	X(ON_GPU, on_gpu)

enum capture_source {
	CAPTURE_SOURCE_NONE, /* what all of them share */
#define X(NAME, name) CAPTURE_SOURCE_##NAME,
	CAPTURE_SOURCES(X)
#undef X
	CAPTURE_SOURCE_COUNT
};

/*
 * Where programs walk the user's stack: what they are called from, as the kernel lets a program go
 * on as another one only if both are called from the same. NAME, name, the walker's section. Each
 * has a table of programs, walk_name, and a program walker_name (walkers.bpf.c).
 */
#define CAPTURE_WALKERS(X)                       \
	X(EVENT, event, "perf_event")            \
	X(FAULT, fault, "perf_event")            \
	X(UPROBE, uprobe, "uprobe")              \
	X(SESSION, session, "uprobe")            \
	X(WAKING, waking, "tp_btf/sched_waking") \
	X(BACK, back, "tp_btf/sched_exit_tp")    \
	X(RETURN, return, "tp_btf/sys_exit")     \
	X(SIGNAL, signal, "tp_btf/signal_deliver")

enum capture_walker {
	CAPTURE_WALKER_NONE, /* it walks no stack */
#define X(NAME, name, section) CAPTURE_WALKER_##NAME,
	CAPTURE_WALKERS(X)
#undef X
	CAPTURE_WALKER_COUNT
};

/*
 * What follows a walk where it is not just sent: NAME, name, of which walker. It is the program
 * name_done.
 */
#define CAPTURE_DONES(X)                           \
	X(OFF_CPU_WAKING, off_cpu_waking, waking)  \
	X(OFF_CPU_BACK, off_cpu_back, back)        \
	X(OFF_CPU_RETURN, off_cpu_return, return ) \
	X(GOROUTINES, goroutines_site, uprobe)     \
	X(INSPECT, inspect_site, uprobe)           \
	X(INSPECT_SESSION, inspect_session, session)

/* The entries of a table of programs: walkers by their runtime, and behind them what follows. */
enum capture_done {
	CAPTURE_DONE_NONE = 31, /* the record is sent */
#define X(NAME, name, walker) CAPTURE_DONE_##NAME,
	CAPTURE_DONES(X)
#undef X
	CAPTURE_WALK_ENTRIES
};

/* Every record begins with this. */
struct capture_head {
	__u32 kind; /* CAPTURE_KIND() of its source */
	__u32 size; /* of all, in bytes */
	__u64 time; /* CLOCK_MONOTONIC */
};

/* The kinds of records of a source are numbered from 0, and known to that source only. */
#define CAPTURE_KIND(source, number) ((source) << 8 | (number))
#define CAPTURE_KIND_SOURCE(kind)    ((kind) >> 8)

enum {
	CAPTURE_HANDOVER = CAPTURE_KIND(CAPTURE_SOURCE_NONE, 1),
	CAPTURE_HOLD = CAPTURE_KIND(CAPTURE_SOURCE_NONE, 2), /* hold_abi.h: wakes user space */
	CAPTURE_ON_CPU = CAPTURE_KIND(CAPTURE_SOURCE_ON_CPU, 0),
};

/* Whose a record is, what it is worth, and what it belongs to. */
struct capture_identity {
	__u32 pid, tid;
	/* CLOCK_MONOTONIC; tells a thread from a later one of the same number */
	__u64 thread_start;
	__u32 exec_id;	/* of the process's program: task->self_exec_id */
	__u8 undecided; /* user space must decide whether this process is meant at all */
	__u8 unused[3];
	char comm[16]; /* of the thread */
	__u64 value;   /* in the unit of the event */
	/*
	 * by which records of one thing are found: a thread, an address, a number of a launch; 0:
	 * none
	 */
	__u64 key;
};

/*
 * A stack of one thread at one moment. Behind it: user_frames + kernel_frames words, user frames
 * first, each leaf first; a frame of a runtime takes two of them (unwind/abi.h).
 */
struct capture_record {
	struct capture_head head;
	struct capture_identity identity;
	/* address that was taken for code that a runtime has made (unwind.h); 0: none */
	__u64 assumed;
	__u32 generation; /* of the mappings that the frames were found with; 0: none */
	__u16 user_frames;
	__u16 kernel_frames;
	__u8 end;	  /* enum unwind_end of the user stack */
	__u8 has_user;	  /* 0: a kernel thread, or user frames were not asked for */
	__u8 handed_over; /* the CAPTURE_HANDOVER of the same time, tid and ring belongs to it */
	/*
	 * 1: the frames and their end are those of the last record of that thread with the same
	 * stack, and are not here
	 */
	__u8 as_before;
	__u32 stack; /* by which later records of the thread may refer to it; 0: none will */
};

/*
 * What user space needs to finish a stack: the registers where the walk stopped, and the stack's
 * memory from sp - CAPTURE_BELOW on (behind this). It comes right before its capture_record.
 */
struct capture_handover {
	struct capture_head head;
	__u32 tid;
	__u32 copied; /* bytes */
	/* bit n: page n of them (page 0 is the one they begin in) could not be read */
	__u32 missing;
	__u32 is_still; /* the thread waits: what else is in its memory can be read as well */
	__u64 pc, sp, fp;
	__u64 registers[16];
	__u64 saved_at; /* enum unwind_saved */
	__u32 known;
	__u8 fp_known, pc_exact, guess, missed;
	__u64 tls;
};

/*
 * What the kernel side had to drop, by source and reason; one counter each, per CPU: NAME, what it
 * costs (SAMPLE: a whole one; PART: less than that, or nothing that is known), words.
 */
#define CAPTURE_LOSSES(X)                                                                          \
	X(RING_FULL, SAMPLE, "ring full: the recorder could not keep up")                          \
	X(NO_RING, SAMPLE, "the CPU came online after the recording began")                        \
	X(SCRATCH_BUSY, SAMPLE, "a probe interrupted others on the same CPU")                      \
	X(NO_WALKER, SAMPLE, "sample: the program that walks its stack is not loaded")             \
	X(HANDOVER, PART, "stack cut: no room to hand it over for completion")                     \
	X(CALL_RING_FULL, SAMPLE, "call lost, ring full: the recorder could not keep up")          \
	X(CALL_NO_RING, SAMPLE, "call lost: the CPU came online after the recording began")        \
	X(CALL_DEPTH, SAMPLE, "call lost: too many open calls in one thread")                      \
	X(CALL_NO_STACK, SAMPLE, "call lost: no memory for a thread's open calls")                 \
	X(CALL_NO_GOROUTINE, SAMPLE, "call lost: the goroutine could not be told")                 \
	X(CALL_NO_TIME, SAMPLE,                                                                    \
	  "call summed up without its time: too many open calls in one thread")                    \
	X(HOLD, PART, "program or library not held for its probes: too many at once")              \
	X(WAIT_NO_MEMORY, SAMPLE, "wait lost: no memory for when its thread was switched out")     \
	X(WAIT_UNSEEN, SAMPLE, "wait lost: its end was not seen")                                  \
	X(WAIT_REST, PART, "shorter waits of threads that ended, in us: ring full")                \
	X(DUMP_NO_MEMORY, SAMPLE, "thread not listed: no memory for its state")                    \
	X(THREAD_NO_MEMORY, SAMPLE, "switch lost: no memory for its thread")                       \
	X(WAIT_STACK, PART, "stack of a wait not taken: more than --wait-stacks a second")         \
	X(WAKER_STACK, PART,                                                                       \
	  "stack of a thread that ended a wait not taken: more than --wait-stacks a second")       \
	X(PAGE_SIZE, PART, "page of unknown size counted as 4 KiB: it may be a huge one")          \
	X(GOROUTINE_NO_MEMORY, SAMPLE, "wait lost: too many goroutines")                           \
	X(TASK_NO_MEMORY, SAMPLE, "wait lost: too many tasks of asyncio")                          \
	X(TASK_RAN_NO_ROOM, PART,                                                                  \
	  "wait of a task may have begun later than shown: too many ran at first")                 \
	X(VTHREAD_NO_MEMORY, SAMPLE, "wait lost: too many virtual threads")                        \
	X(VTHREAD_STACK, PART,                                                                     \
	  "stack with which a virtual thread waits not taken: too many a second")                  \
	X(GOROUTINE_READIER, PART,                                                                 \
	  "stack of a goroutine that made another one ready not taken: too many a second")         \
	X(REQUEST_NO_MEMORY, SAMPLE, "request lost: no memory for its connection")                 \
	X(FREE_RING_FULL, PART,                                                                    \
	  "memory shown as in use that was freed: ring full, the recorder could not keep up")      \
	X(FREE_NO_RING, PART,                                                                      \
	  "memory shown as in use that was freed: the CPU came online after the recording "        \
	  "began")                                                                                 \
	X(INSPECT_CONDITION, SAMPLE, "call not shown: a value of its condition was not in memory") \
	X(INSPECT_RATE, PART, "call not shown: --rate was reached")                                \
	X(INSPECT_OPEN, PART, "end of a call not seen: too many calls are open")                   \
	X(DISK_REQUESTS, PART, "thread of a request to a disk not known: too many at once")        \
	X(LOG_RATE, SAMPLE, "write to a log lost: --logs-rate was reached")

enum capture_loss {
#define X(name, costs, words) CAPTURE_LOSS_##name,
	CAPTURE_LOSSES(X)
#undef X
	CAPTURE_LOSS_COUNT
};

/* Where it is counted. */
#define CAPTURE_LOSS_AT(source, reason) ((source)*CAPTURE_LOSS_COUNT + (reason))

#endif
