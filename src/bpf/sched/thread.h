/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_THREAD_H
#define BPF_SCHED_THREAD_H

/*
 * What is known of each thread and CPU, measured once for all events: when a thread went out, when
 * it was woken, when it came in again, and the lock that it may wait for. What is kept of that is
 * chosen before loading: waits (waits.h), slices (slices.h), or both.
 */
#include "bpf/filter.h"
#include "bpf/sched/listing.h"
#include "bpf/sched/object_seen.h"
#include "bpf/sched/threads_abi.h"

/* Set before loading. */
const volatile bool sched_waits;  /* long waits with their stacks, and sums of the others */
const volatile bool sched_slices; /* every switch */
const volatile bool sched_locks;  /* the evidence of locks is read */
/* ns: of a wait that has a stack, and of a poll whose end is looked at */
const volatile __u64 sched_min_wait = 50000;
/* ns between two stacks of a CPU, if there were always one to read; 0: each wait may have one */
const volatile __u64 sched_stack_interval;
/* The kernel has no sched_exit_tp: stacks are read when threads return from their system calls. */
const volatile bool sched_at_return;

/* How long an answer of the filter counts. */
#define ASK_AGAIN_NS 50000000ull

/*
 * Between its decision to wait and the report of its switch, a thread needs less, if its CPU is a
 * real one or is not stopped meanwhile.
 */
#define GOES_OUT_NS 1000000ull

/* A thread that is switched to, and whose stack is wanted. */
struct sched_coming {
	__u32 tid;    /* 0: there is none */
	__u32 number; /* of the thread, whose slice has the stack; 0: none has */
	__u64 in;
	/* of waits alone */
	__u64 out, woken;
	struct off_cpu_sums sums;
	__u32 state;
	__u32 parts; /* enum off_cpu_reports */
};

/* What waits keep of a thread. */
struct waits_thread {
	__u64 since;	   /* as sched_thread.out, or up to where the list has reported it */
	__u64 quiet_until; /* its last stack could not be sent: none is read before */
	struct off_cpu_sums sums;
	__u32 film; /* which has the stack with which it waits since then; 0: none */
	__u8 waker_context, has_waker_stack;
	__u32 waker_pid, waker_tid;
	char waker_comm[16];
};

/* What slices keep of a thread. */
struct slices_thread {
	__u32 number, waker;
	__u8 known;
	__u8 context; /* of its waker */
	__u8 polls;   /* enum slices_polls */
	__u32 object_reported;
	__u64 epoll;	 /* the file that it waits for new events of; 0: it does not */
	__u64 time_over; /* in jiffies: the timeout of a socket that it waits for; 0: none */
	/* the evidence that was reported last */
	__u64 arguments[THREADS_CALL_ARGUMENTS];
	struct object_seen seen;
	__u64 executed;
};

struct sched_thread {
	__u64 out;   /* when it went out; 0: it runs, or that was not seen */
	__u64 woken; /* when it was last woken; 0: not since it went out */
	__u64 asked;
	__u32 state;   /* with which it went out; 0: it could have run on */
	__u8 answer;   /* enum filter_answer, as of asked */
	__u8 has_lock; /* it waits for one, maybe: lock has what was read of that */
	__u8 released; /* enum lock_released: by the thread that ended a long wait */
	struct waits_thread waits;
	struct slices_thread slices;
	struct sched_coming later; /* sched_at_return: its stack is read there */
	struct lock_evidence lock; /* at the end: other switches need not fetch it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sched_thread);
} sched_threads SEC(".maps");

struct sched_cpu {
	struct sched_coming coming;
	__u64 paid; /* when its next stack is due, by their rate */
	/* the thread that came in last, and its number; 0: it is not selected */
	__u32 tid, number;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sched_cpu);
} sched_cpus SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___sched {
	__u32 cpu;
};

struct task_struct___sched {
	struct thread_info___sched thread_info;
	unsigned int __state;
	unsigned int on_cpu; /* a byte since 7.2: libbpf fits loads of unsigned members only */
	unsigned long nvcsw, nivcsw;
};

#pragma clang attribute pop

static __always_inline struct sched_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&sched_cpus, &zero);
}

/* Null: it has not been seen. */
static __always_inline struct sched_thread *sched_find(struct task_struct *task)
{
	return bpf_task_storage_get(&sched_threads, task, 0, 0);
}

/*
 * Null: there is no memory. The kernel keeps room for a single one at first, and makes more soon
 * after that was used.
 */
static __always_inline struct sched_thread *sched_make(struct task_struct *task)
{
	return bpf_task_storage_get(&sched_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Of a thread that is not selected, nothing was lost. */
static __noinline void count_no_memory(struct task_struct *task, bool is_current)
{
	if (filter_everything || (is_current ? filter_current() : filter_other(task)) != FILTER_NO)
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_THREAD_NO_MEMORY);
}

/* is_current: the thread still is. */
static __always_inline void ask_filter(struct task_struct *task, struct sched_thread *thread,
				       bool is_current, __u64 now)
{
	thread->answer = is_current ? filter_current() : filter_other(task);
	thread->asked = now;
	/* the kernel knows a control group of the current thread alone: ask as it goes out */
	if (!is_current && thread->answer == FILTER_ASK)
		thread->asked -= ASK_AGAIN_NS;
}

/*
 * What is known of a thread; null: it is not selected, or there is no memory. is_current: it still
 * is.
 */
static __always_inline struct sched_thread *sched_selected(struct task_struct *task,
							   bool is_current, __u64 now)
{
	struct sched_thread *thread;

	if (filter_waits_for_us(task))
		return NULL;
	thread = sched_make(task);
	if (!thread) {
		count_no_memory(task, is_current);
		return NULL;
	}
	if (filter_everything) {
		thread->answer = FILTER_YES;
	} else if (thread->asked && task->flags & PF_EXITING) {
		/* its process may be no target any more, as it has ended: it is one to its end */
	} else if (is_current ? now - thread->asked > ASK_AGAIN_NS : !thread->asked) {
		ask_filter(task, thread, is_current, now);
	}
	if (thread->answer != FILTER_NO)
		return thread;
	/* as has been decided meanwhile: nor is what was summed up before that */
	thread->out = thread->waits.since = 0;
	thread->later.tid = 0;
	thread->waits.sums = (struct off_cpu_sums){};
	return NULL;
}

/* -- the time of a switch ---------------------------------------------------------------------- */

/*
 * Another CPU may wake it before its switch is reported: from then on it is ready. Unlike the wake
 * of a thread that ran on after that, it is one of the last moment, or its state shows it.
 */
static __always_inline bool is_woken_already(struct task_struct *task, __u64 woken, __u32 state,
					     __u64 now)
{
	struct task_struct___sched *more = (void *)task;

	/* also after that moment, while its switch is looked at here */
	return state && (more->__state == OFF_CPU_STATE_WAKING || woken + GOES_OUT_NS > now);
}

/* It goes out: a wake of before does not end the wait that begins; one of just now does. */
static __always_inline void forget_wake(struct task_struct *task, struct sched_thread *thread,
					__u32 state, __u64 now)
{
	__u64 woken = thread->woken;

	if (woken && !is_woken_already(task, woken, state, now))
		__sync_val_compare_and_swap(&thread->woken, woken, 0);
}

/*
 * When a thread that was out since then, and is in again, was woken, or could run on; 0: that was
 * not seen. Another CPU may wake it once more just now.
 */
static __always_inline __u64 woken_between(const struct sched_thread *thread, __u64 out, __u64 in)
{
	__u64 woken = thread->woken;

	if (out && (!thread->state || (woken && woken < out)))
		return out; /* it could have run on, or was woken on its way out */
	return woken > in ? 0 : woken;
}

/* -- stacks ------------------------------------------------------------------------------------ */

/* How far stacks are ahead of their rate on this CPU, ns. */
static __always_inline __u64 stacks_ahead(const struct sched_cpu *cpu, __u64 now)
{
	return cpu->paid > now ? cpu->paid - now : 0;
}

static __always_inline void pay_for_stack(struct sched_cpu *cpu, __u64 now)
{
	cpu->paid = (cpu->paid > now ? cpu->paid : now) + sched_stack_interval;
}

#endif
