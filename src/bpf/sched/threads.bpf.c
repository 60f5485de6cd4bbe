// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * threads: every switch of every thread. Each CPU has a log of its own (threads_abi.h), into which
 * nothing but its switches, and the wakings that happen on it, are written: a few words each. What
 * a thread waits for is reported when it goes out, from the registers that it entered the kernel
 * with; what is as it was the last time is not reported again.
 */
#include "bpf/sched/epoll.h"
#include "bpf/sched/listing.h"
#include "bpf/sched/off_cpu_evidence.h"
#include "bpf/sched/paths.h"
#include "bpf/sched/polls.h"
#include "bpf/sched/socket_timeout.h"
#include "bpf/sched/switch_stack.h"
#include "bpf/sched/threads_abi.h"
#include "bpf/sched/threads_lock.h"
#include "bpf/sched/threads_log.h"
#include "bpf/sched/uring.h"
#include "bpf/sched/waker_context.h"

/* Set before loading. */
/* ns: of a wait that has a stack, and of a poll whose end is looked at */
const volatile __u64 threads_min_wait = 50000;
const volatile __u64 threads_stack_interval; /* as off_cpu_stack_interval */
/* The kernel has no sched_exit_tp: stacks are taken when threads return from their system calls. */
const volatile bool threads_at_return;

/* The last thread's number. */
__u32 threads_count;

/* How long an answer of the filter counts. */
#define ASK_AGAIN_NS 50000000ull

/*
 * Between its decision to wait and the report of its switch, a thread takes less, if its CPU is a
 * real one or is not taken away meanwhile.
 */
#define GOES_OUT_NS 1000000ull

/* A thread that is switched to, and whose stack is wanted. */
struct threads_coming {
	__u32 tid; /* 0: it is not */
	__u32 thread;
	__u64 in;
};

/* What user space knows of a thread. One that has another name is meant still. */
enum {
	KNOWN_BY_NAME = 1,
	KNOWN_AS_MEANT = 2,
};

/*
 * It waits for several things at once: by poll(2), by select(2), or by io_uring, whose file is that
 * which was seen last.
 */
enum threads_polls {
	POLLS_NOT,
	POLLS_MANY,
	SELECTS_MANY,
	ENTRIES_OF_URING,
};

struct threads_thread {
	struct threads_coming later; /* threads_at_return */
	__u64 out;		     /* when it went out; 0: it runs, or that was not seen */
	__u64 woken, asked, executed;
	/* the evidence that was reported last */
	__u64 arguments[THREADS_CALL_ARGUMENTS];
	struct object_seen seen;
	__u64 epoll;	 /* the file that it waits for new events of; 0: it does not */
	__u64 time_over; /* in jiffies: the timeout of a socket that it waits for; 0: none */
	__u32 object_told;
	__u32 thread, waker;
	__u8 answer; /* enum filter_answer, as of asked */
	__u8 known;
	__u8 context; /* of its waker */
	__u8 could_run;
	__u8 polls;		  /* enum threads_polls */
	__u8 has_lock;		  /* it waits for one, maybe: lock has what was read of that */
	struct threads_lock lock; /* at the end: other switches need not fetch it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct threads_thread);
} threads_storage SEC(".maps");

struct threads_cpu {
	struct threads_coming coming;
	__u64 paid; /* when its next stack is due, by their rate */
	/* the thread that came in last, and its number; 0: it is not meant */
	__u32 tid, number;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct threads_cpu);
} threads_cpus SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___threads {
	__u32 cpu;
};

struct task_struct___threads {
	struct thread_info___threads thread_info;
	unsigned int __state;
	unsigned int on_cpu; /* a byte since 7.2: libbpf fits loads of unsigned members only */
	unsigned long nvcsw, nivcsw;
};

#pragma clang attribute pop

static __always_inline __u8 count_of(struct task_struct *task)
{
	struct task_struct___threads *more = (void *)task;

	return more->nvcsw + more->nivcsw;
}

/* -- threads ----------------------------------------------------------------------------------- */

/* Tells user space of a thread. Apart, as it is rare. */
static __noinline void introduce(struct task_struct *task, struct threads_thread *thread)
{
	__u8 as = thread->answer == FILTER_NO ? KNOWN_BY_NAME : KNOWN_BY_NAME | KNOWN_AS_MEANT;
	struct capture_scratch *scratch;
	struct capture_record *record;
	void *ring = capture_ring();

	if (!thread->thread) {
		__u32 number = __sync_fetch_and_add(&threads_count, 1) + 1;

		/* another CPU may do the same, just now */
		__sync_val_compare_and_swap(&thread->thread, 0, number);
	}
	if (!ring) {
		capture_count_loss(CAPTURE_SOURCE_THREADS, CAPTURE_LOSS_NO_RING);
		return;
	}
	scratch = capture_begin(CAPTURE_SOURCE_THREADS, CAPTURE_WALKER_NONE);
	if (!scratch)
		return;
	record = &scratch->record;
	capture_blank(record, THREADS_NEW, task);
	record->head.time = bpf_ktime_get_ns();
	record->head.size = sizeof(*record);
	record->identity.pid = task->tgid;
	record->identity.tid = task->pid;
	record->identity.undecided = thread->answer == FILTER_ASK;
	record->identity.key = thread->thread;
	if (as & KNOWN_AS_MEANT)
		record->identity.value = thread->executed ? thread->executed : 1;
	bpf_probe_read_kernel(record->identity.comm, sizeof(record->identity.comm), task->comm);
	if (capture_output(ring, CAPTURE_SOURCE_THREADS, record, sizeof(*record), BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_THREADS, CAPTURE_LOSS_RING_FULL);
	else
		thread->known = as;
	capture_end(scratch);
}

/*
 * Null: there is no memory. The kernel keeps room for a single one at first, and makes more soon
 * after that was taken.
 */
static __always_inline struct threads_thread *storage_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads_storage, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Of a thread that is not meant, nothing was lost. */
static __noinline void count_no_memory(struct task_struct *task, bool is_current)
{
	if (filter_everything || (is_current ? filter_current() : filter_other(task)) != FILTER_NO)
		capture_count_loss(CAPTURE_SOURCE_THREADS, CAPTURE_LOSS_THREAD_NO_MEMORY);
}

/* What is known of a thread that is meant; null: it is not. is_current: it still is. */
static __always_inline struct threads_thread *meant(struct task_struct *task, bool is_current,
						    __u64 now)
{
	struct threads_thread *thread;

	if (filter_waits_for_us(task))
		return NULL;
	thread = storage_of(task);
	if (!thread) {
		count_no_memory(task, is_current);
		return NULL;
	}
	if (filter_everything) {
		thread->answer = FILTER_YES;
	} else if (thread->asked && task->flags & PF_EXITING) {
		/* its process may be no target any more, as it has ended: it is one to its end */
	} else if (is_current ? now - thread->asked > ASK_AGAIN_NS : !thread->asked) {
		thread->answer = is_current ? filter_current() : filter_other(task);
		thread->asked = now;
	}
	if (thread->answer == FILTER_NO)
		return NULL;
	if (thread->known != (KNOWN_BY_NAME | KNOWN_AS_MEANT))
		introduce(task, thread);
	return thread->known & KNOWN_AS_MEANT ? thread : NULL;
}

static __always_inline struct threads_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&threads_cpus, &zero);
}

/* It is called something else, maybe by another thread: it is introduced again. */
SEC("tp_btf/task_rename")
int BPF_PROG(threads_rename, struct task_struct *task)
{
	struct threads_thread *thread = bpf_task_storage_get(&threads_storage, task, 0, 0);
	struct threads_cpu *cpu = this_cpu();

	if (thread)
		thread->known &= ~KNOWN_BY_NAME;
	if (cpu && cpu->tid == (__u32)task->pid)
		cpu->tid = 0; /* so that what it wakes introduces it, too */
	return 0;
}

/* It has another name, by which it may be meant: an answer of before does not count any more. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(threads_exec, struct task_struct *task)
{
	struct threads_thread *thread = bpf_task_storage_get(&threads_storage, task, 0, 0);

	if (thread) {
		thread->asked = 0;
		thread->executed = bpf_ktime_get_ns();
	}
	return 0;
}

/* -- who wakes --------------------------------------------------------------------------------- */

static __always_inline __u32 number_of_current(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct threads_cpu *cpu = this_cpu();
	struct threads_thread *thread;

	if (cpu && cpu->number && cpu->tid == (__u32)task->pid)
		return cpu->number;
	thread = storage_of(task);
	if (!thread) {
		capture_count_loss(CAPTURE_SOURCE_THREADS, CAPTURE_LOSS_THREAD_NO_MEMORY);
		return 0;
	}
	if (!(thread->known & KNOWN_BY_NAME)) {
		if (filter_everything)
			thread->answer = FILTER_YES;
		introduce(task, thread);
	}
	return thread->thread;
}

static __always_inline void note_waking(struct threads_thread *thread, __u64 now)
{
	thread->woken = now;
	thread->context = waker_context();
	/* timers that are no finer work in soft interrupts, as the network does */
	if (thread->time_over && thread->context != OFF_CPU_BY_THREAD &&
	    bpf_jiffies64() >= thread->time_over)
		thread->context = OFF_CPU_BY_TIMER;
	thread->waker = thread->context == OFF_CPU_BY_THREAD ? number_of_current() : 0;
	/* only long waits have their lock reported */
	if (thread->has_lock && now - thread->out >= threads_min_wait)
		thread->lock.is_released =
			thread->context == OFF_CPU_BY_THREAD && lock_is_released(&thread->lock);
}

/* What the task that is woken waits for, and is ready: its object; 0: not known. */
static __always_inline __u32 ready_object(struct task_struct *task, struct threads_thread *thread)
{
	struct task_struct___threads *more = (void *)task;

	if (thread->epoll)
		return epoll_ready(task, thread->epoll, THREADS_OBJECT);
	if (thread->polls == ENTRIES_OF_URING)
		return uring_ready(task, thread->seen.file, thread->context == OFF_CPU_BY_THREAD,
				   THREADS_OBJECT);
	/* it is still on its way out, and its stack is not at rest */
	if (more->on_cpu)
		return 0;
	return poll_ready(task, thread->polls == SELECTS_MANY, THREADS_OBJECT);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(threads_waking, struct task_struct *task)
{
	struct threads_thread *thread = bpf_task_storage_get(&threads_storage, task, 0, 0);
	struct threads_log *log;
	__u32 ready = 0;
	__u64 now;

	if (!thread || !(thread->known & KNOWN_AS_MEANT))
		return 0;
	now = bpf_ktime_get_ns();
	note_waking(thread, now);
	/* it runs: it wakes itself, or is woken on its way out, with interrupts on maybe */
	if (!thread->out)
		return 0;
	log = log_of_cpu();
	if (!log || !has_room(log, sizeof(struct threads_waking) / 8))
		return 0;
	/* of a short wait it would take longer to find out than to wait */
	if ((thread->epoll || thread->polls) && now - thread->out >= threads_min_wait)
		ready = ready_object(task, thread);
	WORD(log, log->head) = now | THREADS_IS_WAKING;
	WORD(log, log->head + 1) = (__u64)ready << 32 | thread->thread;
	publish(log, sizeof(struct threads_waking) / 8);
	return 0;
}

/* Its maker wakes a thread for the first time. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(threads_made, struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	struct threads_thread *thread = meant(task, false, now);

	if (thread)
		note_waking(thread, now);
	return 0;
}

/* -- locks of files ---------------------------------------------------------------------------- */

/* Its path is that of the call's descriptor, which its switch reports. */
static __always_inline int file_lock_take(void *ctx)
{
	const struct file_lock_told told = file_lock_told(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct threads_thread *thread = bpf_task_storage_get(&threads_storage, task, 0, 0);

	if (told.result == FILE_LOCK_DEFERRED && !thread)
		thread = meant(task, true, bpf_ktime_get_ns());
	if (thread)
		file_lock_asked(&told, &thread->lock.evidence);
	return 0;
}

SEC("tp_btf/flock_lock_inode")
int threads_flock(void *ctx)
{
	return file_lock_take(ctx);
}

SEC("tp_btf/posix_lock_inode")
int threads_record_lock(void *ctx)
{
	return file_lock_take(ctx);
}

/* -- the switch -------------------------------------------------------------------------------- */

/* A record in the making. */
struct threads_making {
	struct threads_switch record;
	struct path_arguments arguments;
	__u64 long_ready;
};

static __always_inline __u8 take_path(struct threads_thread *thread, const struct threads_making *m,
				      __u32 call)
{
	/* what has a descriptor is looked for anew next time */
	thread->seen.file = 0;
	thread->seen.object = path_number(call, &m->arguments, THREADS_OBJECT);
	return thread->seen.object ? OFF_CPU_FD_PATH : OFF_CPU_FD_NONE;
}

static __always_inline void take_lock(struct threads_thread *thread,
				      const struct pt_regs___call *regs, __u64 now)
{
	thread->lock.evidence.address = REGS_CALL_ARG1(regs);
	thread->lock.evidence.operation = REGS_CALL_ARG2(regs);
	thread->lock.evidence.expected = REGS_CALL_ARG3(regs);
	thread->has_lock = lock_begin(&thread->lock, now);
}

/* Of io_uring_enter(2): it waits for entries. */
static __always_inline bool waits_for_entries(const struct pt_regs___call *regs, __u32 state)
{
	return state & OFF_CPU_STATE_SLEEPS && REGS_CALL_ARG4(regs) & URING_ENTER_GETEVENTS;
}

/* A thread of io_uring's: it has no call, and waits for what it works on, if that is anything. */
static __always_inline void take_worker(struct threads_making *m, struct task_struct *task,
					struct threads_thread *thread)
{
	__u64 entry = uring_worked_on(task);

	if (!entry) {
		m->record.flags |= THREADS_IS_KERNEL;
		return;
	}
	m->record.call = SYSCALL_IO_URING_ENTER + 1;
	if (!m->record.state)
		return;
	thread->seen.file = 0;
	thread->seen.object = uring_object(task, entry, 0, THREADS_OBJECT);
	m->record.descriptor = OFF_CPU_FD_IO_URING;
	if (thread->seen.object != thread->object_told)
		m->record.flags |= THREADS_NEW_OBJECT;
}

static __always_inline void take_call(struct threads_making *m, struct task_struct *task,
				      struct threads_thread *thread)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);
	__u64 *arguments = m->arguments.at;
	__s64 call = REGS_CALL(regs);
	__u32 fd;

	if (call == SYSCALL_RESTART)
		call = restarted_of(task, regs);
	if (call < 0 || call >= 0xffff)
		return;
	m->record.call = call + 1;
	if (!m->record.state)
		return;
	fd = arguments[0] = REGS_CALL_ARG1(regs);
	arguments[1] = REGS_CALL_ARG2(regs);
	arguments[2] = REGS_CALL_ARG3(regs);
	arguments[3] = REGS_CALL_ARG4(regs);
	if (call == SYSCALL_IO_URING_ENTER && REGS_CALL_ARG4(regs) & URING_ENTER_REGISTERED_RING)
		m->record.descriptor =
			object_look_at(&thread->seen, (__u64)uring_registered(task, fd), ~0);
	else if ((call < DESCRIPTOR_CALLS && descriptor_calls[descriptor_call(call)]) ||
		 object_polled(call, REGS_CALL_ARG1(regs), REGS_CALL_ARG2(regs), &fd) ||
		 object_selected(call, REGS_CALL_ARG1(regs), &arguments[1], &fd))
		m->record.descriptor =
			object_look_at(&thread->seen, (__u64)object_file(task, fd), fd);
	else if (call == SYSCALL_POLL || call == SYSCALL_PPOLL)
		thread->polls = POLLS_MANY;
	else if (call == SYSCALL_SELECT || call == SYSCALL_PSELECT6)
		thread->polls = SELECTS_MANY;
	else if (call < DESCRIPTOR_CALLS && path_calls[descriptor_call(call)])
		m->record.descriptor = take_path(thread, m, path_calls[descriptor_call(call)]);
	else if (call == SYSCALL_FUTEX)
		take_lock(thread, regs, m->record.time);
	if (file_lock_call(call))
		thread->has_lock = lock_begin_of_file(&thread->lock, m->record.time);
	if (m->record.descriptor && m->record.descriptor != OFF_CPU_FD_PATH)
		object_number_of(&thread->seen, task, THREADS_OBJECT);
	if (m->record.descriptor && thread->seen.object != thread->object_told)
		m->record.flags |= THREADS_NEW_OBJECT;
	if (m->record.descriptor == OFF_CPU_FD_EPOLL)
		thread->epoll = thread->seen.file;
	if (object_is_socket(m->record.descriptor))
		thread->time_over = socket_time_over(thread->seen.file, call);
	if (m->record.descriptor == OFF_CPU_FD_IO_URING && waits_for_entries(regs, m->record.state))
		thread->polls = ENTRIES_OF_URING;
	if (arguments[0] != thread->arguments[0] || arguments[1] != thread->arguments[1] ||
	    arguments[2] != thread->arguments[2] || arguments[3] != thread->arguments[3])
		m->record.flags |= THREADS_ARGUMENTS;
}

/* Of a thread that ends: whether it asked for that, or was killed in another call. */
static __always_inline void take_last_call(struct threads_making *m, struct task_struct *task)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);
	__s64 call = REGS_CALL(regs);

	if (call >= 0 && call < 0xffff)
		m->record.call = call + 1;
	if (call != SYSCALL_EXIT && call != SYSCALL_EXIT_GROUP)
		return;
	m->arguments.at[0] = REGS_CALL_ARG1(regs); /* its status */
	m->arguments.at[1] = m->arguments.at[2] = m->arguments.at[3] = 0;
	m->record.flags |= THREADS_ARGUMENTS;
}

/*
 * Another CPU may wake it before its switch is reported: from then on it is ready. Unlike the wake
 * of a thread that ran on after that, it is one of the last moment, or its state shows it.
 */
static __always_inline bool is_woken_already(struct task_struct *task,
					     const struct threads_thread *thread, __u32 state,
					     __u64 now)
{
	struct task_struct___threads *more = (void *)task;

	return state && thread->woken &&
	       (more->__state == OFF_CPU_STATE_WAKING || now - thread->woken < GOES_OUT_NS);
}

static __always_inline void goes_out(struct threads_making *m, struct task_struct *task,
				     struct threads_thread *thread, __u32 state, __u64 now)
{
	struct task_struct___evidence *more = (void *)task;

	m->record.prev = thread->thread;
	m->record.prev_count = count_of(task);
	m->record.state = state;
	thread->epoll = 0;
	thread->time_over = 0;
	thread->polls = POLLS_NOT;
	/* preempted as it comes back, it has its stack taken still */
	if (state)
		thread->has_lock = false;
	if (task->flags & PF_KTHREAD)
		m->record.flags |= THREADS_IS_KERNEL;
	else if (task->flags & PF_IO_WORKER)
		take_worker(m, task, thread);
	else if (state & OFF_CPU_STATE_DEAD)
		take_last_call(m, task);
	else
		take_call(m, task, thread);
	if (state && BPF_CORE_READ_BITFIELD(more, in_iowait))
		m->record.flags |= THREADS_IOWAIT;
	if (state && BPF_CORE_READ_BITFIELD(more, frozen))
		m->record.flags |= THREADS_IS_FROZEN;
	thread->could_run = !state;
	thread->out = now;
	if (!is_woken_already(task, thread, state, now))
		thread->woken = 0;
}

/* Whether the wait that is over has a stack, which is then taken soon. */
static __always_inline bool wants_stack(struct task_struct *task, struct threads_thread *thread,
					__u64 waited, __u64 now)
{
	struct threads_cpu *cpu = this_cpu();
	struct threads_coming *coming;

	if (waited < threads_min_wait || !cpu)
		return false;
	if (cpu->paid > now && cpu->paid - now >= BURST_NS) {
		capture_count_loss(CAPTURE_SOURCE_THREADS, CAPTURE_LOSS_WAIT_STACK);
		return false;
	}
	cpu->paid = (cpu->paid > now ? cpu->paid : now) + threads_stack_interval;
	coming = threads_at_return ? &thread->later : &cpu->coming;
	coming->tid = task->pid;
	coming->thread = thread->thread;
	coming->in = now;
	return true;
}

static __always_inline void comes_in(struct threads_making *m, struct task_struct *task,
				     struct threads_thread *thread, __u64 now)
{
	__u64 out = thread->out, woken = thread->woken, ready;

	if (out && (thread->could_run || (woken && woken < out)))
		woken = out; /* it could have run on, or was woken on its way out */
	if (!woken || woken > now) {
		m->record.flags |= THREADS_UNWOKEN;
		woken = now;
	}
	ready = now - woken;
	m->record.next = thread->thread;
	m->record.next_count = count_of(task);
	if (!thread->could_run) {
		m->record.waker = thread->waker;
		m->record.context = thread->context;
	}
	m->record.ready = ready;
	if (ready > 0xffffffff) {
		m->record.flags |= THREADS_LONG_READY;
		m->long_ready = ready;
	}
	if (out && wants_stack(task, thread, woken - out, now))
		m->record.flags |= THREADS_HAS_STACK;
	thread->out = thread->woken = 0;
	thread->waker = 0;
	thread->context = OFF_CPU_BY_NOBODY;
	thread->could_run = 0;
}

/*
 * Whether it had room. Not static, so that the verifier looks at it once, and not once for each way
 * that leads here: Linux 6.1 gives up then.
 */
__weak __noinline int threads_write(const struct threads_making *m, __u32 object)
{
	struct threads_log *log = log_of_cpu();
	__u64 words = THREADS_SWITCH_WORDS, at;
	const __u64 *record;

	if (!m)
		return false;
	record = (const __u64 *)&m->record;
	if (!log) {
		capture_count_loss(CAPTURE_SOURCE_THREADS, CAPTURE_LOSS_NO_RING);
		return false;
	}
	if (!has_room(log, THREADS_RECORD_WORDS_MAX))
		return false;
	at = log->head;
	WORD(log, at) = record[0];
	WORD(log, at + 1) = record[1];
	WORD(log, at + 2) = record[2];
	WORD(log, at + 3) = record[3];
	if (m->record.flags & THREADS_ARGUMENTS) {
		WORD(log, at + 4) = m->arguments.at[0];
		WORD(log, at + 5) = m->arguments.at[1];
		WORD(log, at + 6) = m->arguments.at[2];
		WORD(log, at + 7) = m->arguments.at[3];
		words += THREADS_CALL_ARGUMENTS;
	}
	if (m->record.flags & THREADS_NEW_OBJECT) {
		WORD(log, at + words) = object;
		words++;
	}
	if (m->record.flags & THREADS_LONG_READY) {
		WORD(log, at + words) = m->long_ready;
		words++;
	}
	publish(log, words);
	return true;
}

/* Notes which thread comes in on this CPU; returns whether the one that came in last was meant. */
static __always_inline bool had_meant(const struct task_struct *task, __u32 number)
{
	struct threads_cpu *cpu = this_cpu();
	bool had = cpu && cpu->number;

	if (cpu) {
		cpu->tid = task->pid;
		cpu->number = number;
	}
	return had;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(threads_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct threads_thread *out = NULL, *in = NULL;
	struct threads_making m = {};
	__u64 now = bpf_ktime_get_ns();
	bool had;

	m.record.time = now;
	if (prev->pid)
		out = meant(prev, true, now);
	if (out)
		/* preempted on its way to wait, it is ready */
		goes_out(&m, prev, out, preempt ? 0 : prev_state & OFF_CPU_STATE_ANY, now);
	if (next->pid)
		in = meant(next, false, now);
	if (in)
		comes_in(&m, next, in, now);
	had = had_meant(next, m.record.next);
	/* numbers, as the verifier wants no pointers to be combined */
	if (!m.record.prev && !m.record.next && !had)
		return 0;
	if (!threads_write(&m, out ? out->seen.object : 0) || !out)
		return 0;
	if (m.record.flags & THREADS_ARGUMENTS)
		__builtin_memcpy(out->arguments, &m.arguments, sizeof(out->arguments));
	if (m.record.flags & THREADS_NEW_OBJECT)
		out->object_told = out->seen.object;
	return 0;
}

/* -- the thread is back ------------------------------------------------------------------------ */

static __always_inline void take_stack(void *ctx, struct task_struct *task,
				       const struct threads_thread *thread,
				       struct threads_coming *coming, enum capture_walker walker,
				       void *table)
{
	struct capture_scratch *scratch = capture_begin(CAPTURE_SOURCE_THREADS, walker);
	bool with_kernel = walker == CAPTURE_WALKER_BACK && want_kernel;
	__u32 words;

	coming->tid = 0;
	if (!scratch)
		return;
	capture_identity(&scratch->record, THREADS_STACK, task, coming->in);
	scratch->record.identity.key = coming->thread;
	scratch->record.identity.undecided = thread && thread->answer == FILTER_ASK;
	switch_stack(scratch, task);
	words = thread && thread->has_lock ? lock_put(scratch, &thread->lock) : 0;
	capture_walk(ctx, scratch, table,
		     with_kernel ? CAPTURE_KERNEL_FRAMES_MAX - THREADS_LOCK_WORDS : 0, words, 0);
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(threads_back, bool is_switch)
{
	struct threads_cpu *cpu = this_cpu();
	struct task_struct *task;

	if (!cpu || !cpu->coming.tid)
		return 0;
	task = bpf_get_current_task_btf();
	if ((__u32)task->pid == cpu->coming.tid)
		take_stack(ctx, task, bpf_task_storage_get(&threads_storage, task, 0, 0),
			   &cpu->coming, CAPTURE_WALKER_BACK, &walk_back);
	return 0;
}

/* Instead of that. What the kernel did while the thread waited is not on its stack any more. */
SEC("tp_btf/sys_exit")
int BPF_PROG(threads_return, struct probe_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct threads_thread *thread = bpf_task_storage_get(&threads_storage, task, 0, 0);

	if (thread && thread->later.tid)
		take_stack(ctx, task, thread, &thread->later, CAPTURE_WALKER_RETURN, &walk_return);
	return 0;
}

#include "bpf/sched/threads_list.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
