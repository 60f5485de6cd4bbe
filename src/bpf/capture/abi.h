/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_ABI_H
#define BPF_CAPTURE_ABI_H

/* The records that probes write into the rings. */

#include "bpf/unwind/abi.h"

/* Most kernel frames of one stack: the kernel's own limit (perf_event_max_stack). */
#define CAPTURE_KERNEL_FRAMES_MAX 127

/*
 * Bytes below the stack pointer that are handed over, too: after the "pop" of a register, the
 * unwind information still refers to the place where it was saved. (The size is that of the red
 * zone in the System V ABI.)
 */
#define CAPTURE_BELOW 128

/* Most stacks that are walked at once on a CPU: another probe can interrupt a probe. */
#define CAPTURE_SCRATCHES 3

/* The same for probes that can be preempted, while other threads run. */
#define CAPTURE_SPARES 16

/* Most bytes of stack memory that are handed over with a stack that user space must finish. */
#define CAPTURE_COPY_MAX 65536

/*
 * The sources of events, one row each: NAME, name. A source's programs and maps are called name_…,
 * its struct source_type source_name (sources/source.h).
 *
 * Sources attach their probes in this order. The kernel runs the probes of one place in reverse
 * order: inspect looks for the call whose entry the tracer has just seen.
 */
#define CAPTURE_SOURCES(X)        \
	X(ON_CPU, on_cpu)         \
	X(INSPECT, inspect)       \
	X(CALLS, calls)           \
	X(SCHED, sched)           \
	X(DUMP, dump)             \
	X(MEM_GROW, mem_grow)     \
	X(GOROUTINES, goroutines) \
	X(REQUESTS, requests)     \
	X(MEM_HEAP, mem_heap)     \
	X(RSS, rss)               \
	X(DEATHS, deaths)         \
	X(MACHINE, machine)       \
	X(TASKS, tasks)           \
	X(VTHREADS, vthreads)     \
	X(LOGS, logs)             \
	X(HBM, hbm)               \
	X(ON_GPU, on_gpu)         \
	X(RDMA, rdma)

enum capture_source {
	CAPTURE_SOURCE_NONE, /* shared by all sources */
#define X(NAME, name) CAPTURE_SOURCE_##NAME,
	CAPTURE_SOURCES(X)
#undef X
	CAPTURE_SOURCE_COUNT
};

/*
 * The hooks in which programs walk user stacks: NAME, name, the walker's section. The kernel only
 * allows a tail call between programs of the same hook, so each hook has its own table of programs,
 * walk_name, and program, walker_name (walkers.bpf.c).
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
	CAPTURE_WALKER_NONE, /* no walk */
#define X(NAME, name, section) CAPTURE_WALKER_##NAME,
	CAPTURE_WALKERS(X)
#undef X
	CAPTURE_WALKER_COUNT
};

/*
 * What follows a walk whose record is not just sent: NAME, name, walker. The program is called
 * name_done.
 */
#define CAPTURE_DONES(X)                       \
	X(SCHED_WAKING, sched_waking, waking)  \
	X(SCHED_BACK, sched_back, back)        \
	X(SCHED_RETURN, sched_return, return ) \
	X(GOROUTINES, goroutines_site, uprobe) \
	X(INSPECT, inspect_site, uprobe)       \
	X(INSPECT_SESSION, inspect_session, session)

/*
 * The indexes in a table of programs: walkers by their runtime, then the programs that follow
 * walks.
 */
enum capture_done {
	CAPTURE_DONE_NONE = 31, /* the record is just sent */
#define X(NAME, name, walker) CAPTURE_DONE_##NAME,
	CAPTURE_DONES(X)
#undef X
	CAPTURE_WALK_ENTRIES
};

/* The beginning of every record. */
struct capture_head {
	__u32 kind; /* CAPTURE_KIND() of its source */
	__u32 size; /* bytes of the whole record */
	__u64 time; /* CLOCK_MONOTONIC */
};

/* The kinds of a source's records are numbered from 0, and only that source knows them. */
#define CAPTURE_KIND(source, number) ((source) << 8 | (number))
#define CAPTURE_KIND_SOURCE(kind)    ((kind) >> 8)

enum {
	CAPTURE_HANDOVER = CAPTURE_KIND(CAPTURE_SOURCE_NONE, 1),
	CAPTURE_HOLD = CAPTURE_KIND(CAPTURE_SOURCE_NONE, 2), /* hold_abi.h: wakes user space */
	CAPTURE_ON_CPU = CAPTURE_KIND(CAPTURE_SOURCE_ON_CPU, 0),
};

/* The thread that a record belongs to, and its value. */
struct capture_identity {
	__u32 pid, tid;
	/* CLOCK_MONOTONIC; distinguishes a thread from a later one with the same tid */
	__u64 thread_start;
	__u32 exec_id;	/* id of the process's execution: task->self_exec_id */
	__u8 undecided; /* user space must decide whether the process is selected */
	__u8 unused;
	__u16 cpu;     /* on which a sample of on-cpu was made, and 1; 0: not known */
	char comm[16]; /* of the thread */
	__u64 value;   /* in the event's unit */
	/*
	 * finds the records that belong together: a thread, an address, the number of a launch; 0:
	 * none
	 */
	__u64 key;
};

/*
 * The stack of one thread at one moment. user_frames + kernel_frames 64-bit words follow, user
 * frames first, each leaf first; a frame of a language runtime has two words (unwind/abi.h).
 */
struct capture_record {
	struct capture_head head;
	struct capture_identity identity;
	/* address that was assumed to be code that a runtime has generated (unwind.h); 0: none */
	__u64 assumed;
	__u32 generation; /* generation of the mappings that the walk used; 0: none */
	__u16 user_frames;
	__u16 kernel_frames;
	__u8 end;	  /* enum unwind_end of the user stack */
	__u8 has_user;	  /* 0: a kernel thread, or user frames were not requested */
	__u8 handed_over; /* a CAPTURE_HANDOVER with the same time, tid and ring belongs to it */
	/*
	 * 1: the frames and end are omitted; they equal those of the thread's last record with the
	 * same number in stack
	 */
	__u8 as_before;
	/* number by which later records of the thread may refer to this stack; 0: none will */
	__u32 stack;
	/* what its program publishes of the thread is kept under this key; 0: nothing */
	__u64 context;
};

/*
 * What user space needs to finish a stack: the registers where the walk stopped, followed by the
 * stack's memory from sp - CAPTURE_BELOW on. It immediately precedes its capture_record.
 */
struct capture_handover {
	struct capture_head head;
	__u32 tid;
	__u32 copied; /* bytes */
	/* bit n: page n of the copy could not be read (the copy begins in page 0) */
	__u32 missing;
	__u32 is_still; /* the thread sleeps, so the rest of its memory can be read, too */
	__u64 pc, sp, fp;
	__u64 registers[16];
	__u64 saved_at; /* enum unwind_saved */
	__u32 known;
	__u8 fp_known, pc_exact, guess, missed;
	__u64 tls;
};

/*
 * Reasons for losses on the kernel side: NAME, cost (SAMPLE: a whole sample; PART: less, or not
 * known), text. Each source has a counter per reason and CPU.
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
	X(CONTEXT, PART,                                                                           \
	  "labels of a sample lost: what its program publishes of the thread is not in memory")    \
	X(LOG_RATE, SAMPLE, "write to a log lost: --logs-rate was reached")                        \
	X(RDMA_UNREAD, PART, "ends of RDMA operations not seen: a completion could not be read")

enum capture_loss {
#define X(name, costs, words) CAPTURE_LOSS_##name,
	CAPTURE_LOSSES(X)
#undef X
	CAPTURE_LOSS_COUNT
};

/* The index of a source's counter. */
#define CAPTURE_LOSS_AT(source, reason) ((source)*CAPTURE_LOSS_COUNT + (reason))

#endif
