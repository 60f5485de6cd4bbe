/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_SLICES_H
#define BPF_SCHED_SLICES_H

/*
 * threads: every switch of every thread. Each CPU has a log of its own (threads_abi.h), into which
 * nothing but its switches, and the wakings that happen on it, are written: a few words each. What
 * a thread waits for is reported when it goes out, from the registers that it entered the kernel
 * with; what is as it was the last time is not reported again.
 */
#include "bpf/sched/epoll.h"
#include "bpf/sched/paths.h"
#include "bpf/sched/polls.h"
#include "bpf/sched/socket_timeout.h"
#include "bpf/sched/switch_stack.h"
#include "bpf/sched/thread_lock.h"
#include "bpf/sched/threads_log.h"
#include "bpf/sched/uring.h"
#include "bpf/sched/waker_context.h"

/* The last thread's number. */
__u32 sched_thread_count;

/* What user space knows of a thread. One that has another name is selected still. */
enum {
	KNOWN_BY_NAME = 1,
	KNOWN_AS_SELECTED = 2,
};

/*
 * It waits for several things at once: by poll(2), by select(2), or by io_uring, whose file is that
 * which was seen last.
 */
enum slices_polls {
	POLLS_NOT,
	POLLS_MANY,
	SELECTS_MANY,
	ENTRIES_OF_URING,
};

static __always_inline __u8 count_of(struct task_struct *task)
{
	struct task_struct___sched *more = (void *)task;

	return more->nvcsw + more->nivcsw;
}

/* -- threads ----------------------------------------------------------------------------------- */

/* Reports a thread to user space. Apart, as it is rare. */
static __noinline void introduce(struct task_struct *task, struct sched_thread *thread)
{
	__u8 as = thread->answer == FILTER_NO ? KNOWN_BY_NAME : KNOWN_BY_NAME | KNOWN_AS_SELECTED;
	struct capture_scratch *scratch;
	struct capture_record *record;
	void *ring = capture_ring();

	if (!thread->slices.number) {
		__u32 number = __sync_fetch_and_add(&sched_thread_count, 1) + 1;

		/* another CPU may do the same, just now */
		__sync_val_compare_and_swap(&thread->slices.number, 0, number);
	}
	if (!ring) {
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_NO_RING);
		return;
	}
	scratch = capture_begin(CAPTURE_SOURCE_SCHED, CAPTURE_WALKER_NONE);
	if (!scratch)
		return;
	record = &scratch->record;
	capture_blank(record, THREADS_NEW, task);
	record->head.time = bpf_ktime_get_ns();
	record->head.size = sizeof(*record);
	record->identity.pid = task->tgid;
	record->identity.tid = task->pid;
	record->identity.undecided = thread->answer == FILTER_ASK;
	record->identity.key = thread->slices.number;
	if (as & KNOWN_AS_SELECTED)
		record->identity.value = thread->slices.executed ? thread->slices.executed : 1;
	bpf_probe_read_kernel(record->identity.comm, sizeof(record->identity.comm), task->comm);
	if (capture_output(ring, CAPTURE_SOURCE_SCHED, record, sizeof(*record), BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_RING_FULL);
	else
		thread->slices.known = as;
	capture_end(scratch);
}

/* Whether user space follows a thread that is selected. */
static __always_inline bool is_followed(struct task_struct *task, struct sched_thread *thread)
{
	if (thread->slices.known != (KNOWN_BY_NAME | KNOWN_AS_SELECTED))
		introduce(task, thread);
	return thread->slices.known & KNOWN_AS_SELECTED;
}

/* -- who wakes --------------------------------------------------------------------------------- */

static __always_inline __u32 number_of_current(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sched_cpu *cpu = this_cpu();
	struct sched_thread *thread;

	if (cpu && cpu->number && cpu->tid == (__u32)task->pid)
		return cpu->number;
	thread = sched_make(task);
	if (!thread) {
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_THREAD_NO_MEMORY);
		return 0;
	}
	if (!(thread->slices.known & KNOWN_BY_NAME)) {
		if (filter_everything)
			thread->answer = FILTER_YES;
		introduce(task, thread);
	}
	return thread->slices.number;
}

/* Notes what wakes a thread: enum off_cpu_context, which is returned. */
static __always_inline __u8 note_waker(struct sched_thread *thread, __u8 context)
{
	struct slices_thread *slices = &thread->slices;

	/* timers that are no finer work in soft interrupts, as the network does */
	if (slices->time_over && context != OFF_CPU_BY_THREAD &&
	    bpf_jiffies64() >= slices->time_over)
		context = OFF_CPU_BY_TIMER;
	slices->context = context;
	slices->waker = context == OFF_CPU_BY_THREAD ? number_of_current() : 0;
	return context;
}

/* What the task that is woken waits for, and is ready: its object; 0: not known. */
static __always_inline __u32 ready_object(struct task_struct *task, struct sched_thread *thread)
{
	struct task_struct___sched *more = (void *)task;

	if (thread->slices.epoll)
		return epoll_ready(task, thread->slices.epoll);
	if (thread->slices.polls == ENTRIES_OF_URING)
		return uring_ready(task, thread->slices.seen.file,
				   thread->slices.context == OFF_CPU_BY_THREAD);
	/* it is still on its way out, and its stack is not at rest */
	if (more->on_cpu)
		return 0;
	return poll_ready(task, thread->slices.polls == SELECTS_MANY);
}

/* A thread that is followed is woken. is_long: its wait was. */
static __always_inline void slices_wake(struct task_struct *task, struct sched_thread *thread,
					bool is_long, __u64 now)
{
	struct threads_log *log;
	__u32 ready = 0;

	/* it runs: it wakes itself, or is woken on its way out, with interrupts on maybe */
	if (!thread->out || !(thread->slices.known & KNOWN_AS_SELECTED))
		return;
	log = log_of_cpu();
	if (!log || !has_room(log, sizeof(struct threads_waking) / 8))
		return;
	/* of a short wait it would take longer to find out than to wait */
	if (is_long && (thread->slices.epoll || thread->slices.polls))
		ready = ready_object(task, thread);
	WORD(log, log->head) = now | THREADS_IS_WAKING;
	WORD(log, log->head + 1) = (__u64)ready << 32 | thread->slices.number;
	publish(log, sizeof(struct threads_waking) / 8);
}

/* -- the switch -------------------------------------------------------------------------------- */

/* A record in the making. */
struct slices_record {
	struct threads_switch record;
	struct path_arguments arguments;
	__u64 long_ready;
};

static __always_inline __u8 read_path(struct slices_thread *slices, const struct slices_record *m,
				      __u32 call)
{
	/* what has a descriptor is looked for anew next time */
	slices->seen.file = 0;
	slices->seen.object = path_number(call, &m->arguments);
	return slices->seen.object ? OFF_CPU_FD_PATH : OFF_CPU_FD_NONE;
}

/* Of io_uring_enter(2): it waits for entries. */
static __always_inline bool waits_for_entries(const struct pt_regs___call *regs, __u32 state)
{
	return state & OFF_CPU_STATE_SLEEPS && REGS_CALL_ARG4(regs) & URING_ENTER_GETEVENTS;
}

/* A thread of io_uring's: it has no call, and waits for what it works on, if that is anything. */
static __always_inline void read_worker(struct slices_record *m, struct task_struct *task,
					struct slices_thread *slices)
{
	__u64 entry = uring_worked_on(task);

	if (!entry) {
		m->record.flags |= THREADS_IS_KERNEL;
		return;
	}
	m->record.call = SYSCALL_IO_URING_ENTER + 1;
	if (!m->record.state)
		return;
	slices->seen.file = 0;
	slices->seen.object = uring_object(task, entry, 0);
	m->record.descriptor = OFF_CPU_FD_IO_URING;
	if (slices->seen.object != slices->object_reported)
		m->record.flags |= THREADS_NEW_OBJECT;
}

static __always_inline void read_call(struct slices_record *m, struct task_struct *task,
				      struct sched_thread *thread)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);
	struct slices_thread *slices = &thread->slices;
	__u64 *arguments = m->arguments.at;
	__s64 call = call_of(task, regs);
	__u32 fd;

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
			object_look_at(&slices->seen, (__u64)uring_registered(task, fd), ~0);
	else if ((call < DESCRIPTOR_CALLS && descriptor_calls[descriptor_call(call)]) ||
		 object_polled(call, REGS_CALL_ARG1(regs), REGS_CALL_ARG2(regs), &fd) ||
		 object_selected(call, REGS_CALL_ARG1(regs), &arguments[1], &fd))
		m->record.descriptor =
			object_look_at(&slices->seen, (__u64)object_file(task, fd), fd);
	else if (call == SYSCALL_POLL || call == SYSCALL_PPOLL)
		slices->polls = POLLS_MANY;
	else if (call == SYSCALL_SELECT || call == SYSCALL_PSELECT6)
		slices->polls = SELECTS_MANY;
	else if (call < DESCRIPTOR_CALLS && path_calls[descriptor_call(call)])
		m->record.descriptor = read_path(slices, m, path_calls[descriptor_call(call)]);
	lock_begin(task, thread, regs, call);
	if (m->record.descriptor && m->record.descriptor != OFF_CPU_FD_PATH)
		object_number_of(&slices->seen, task);
	if (m->record.descriptor && slices->seen.object != slices->object_reported)
		m->record.flags |= THREADS_NEW_OBJECT;
	if (m->record.descriptor == OFF_CPU_FD_EPOLL)
		slices->epoll = slices->seen.file;
	if (object_is_socket(m->record.descriptor))
		slices->time_over = socket_time_over(slices->seen.file, call);
	if (m->record.descriptor == OFF_CPU_FD_IO_URING && waits_for_entries(regs, m->record.state))
		slices->polls = ENTRIES_OF_URING;
	if (arguments[0] != slices->arguments[0] || arguments[1] != slices->arguments[1] ||
	    arguments[2] != slices->arguments[2] || arguments[3] != slices->arguments[3])
		m->record.flags |= THREADS_ARGUMENTS;
}

/* Of a thread that ends: whether it asked for that, or was killed in another call. */
static __always_inline void read_last_call(struct slices_record *m, struct task_struct *task)
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

static __always_inline void slices_go_out(struct slices_record *m, struct task_struct *task,
					  struct sched_thread *thread)
{
	struct task_struct___evidence *more = (void *)task;
	struct slices_thread *slices = &thread->slices;
	__u32 state = thread->state;

	m->record.prev = slices->number;
	m->record.prev_count = count_of(task);
	m->record.state = state;
	slices->epoll = 0;
	slices->time_over = 0;
	slices->polls = POLLS_NOT;
	if (task->flags & PF_KTHREAD)
		m->record.flags |= THREADS_IS_KERNEL;
	else if (task->flags & PF_IO_WORKER)
		read_worker(m, task, slices);
	else if (state & OFF_CPU_STATE_DEAD)
		read_last_call(m, task);
	else
		read_call(m, task, thread);
	if (state && BPF_CORE_READ_BITFIELD(more, in_iowait))
		m->record.flags |= THREADS_IOWAIT;
	if (state && BPF_CORE_READ_BITFIELD(more, frozen))
		m->record.flags |= THREADS_IS_FROZEN;
}

/* Whether the wait that is over has a stack, which is then read soon: waits need it, too. */
static __always_inline bool has_stack(struct task_struct *task, struct sched_thread *thread,
				      struct sched_coming *coming, __u64 waited, __u64 now)
{
	struct sched_cpu *cpu = this_cpu();

	if (waited < sched_min_wait || !cpu)
		return false;
	if (!coming && (sched_waits || stacks_ahead(cpu, now) >= BURST_NS)) {
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_WAIT_STACK);
		return false;
	}
	if (!coming) {
		pay_for_stack(cpu, now);
		coming = sched_at_return ? &thread->later : &cpu->coming;
		coming->tid = task->pid;
		coming->out = thread->out;
		coming->in = now;
	}
	coming->number = thread->slices.number;
	return true;
}

/* out: when it went out; woken: 0: not seen; coming: what has its stack already, or null. */
static __always_inline void slices_come_in(struct slices_record *m, struct task_struct *task,
					   struct sched_thread *thread, struct sched_coming *coming,
					   __u64 woken, __u64 now)
{
	struct slices_thread *slices = &thread->slices;
	__u64 out = thread->out, ready;

	if (!woken) {
		m->record.flags |= THREADS_UNWOKEN;
		woken = now;
	}
	ready = now - woken;
	m->record.next = slices->number;
	m->record.next_count = count_of(task);
	if (!out || thread->state) {
		m->record.waker = slices->waker;
		m->record.context = slices->context;
	}
	m->record.ready = ready;
	if (ready > 0xffffffff) {
		m->record.flags |= THREADS_LONG_READY;
		m->long_ready = ready;
	}
	if (out && has_stack(task, thread, coming, woken - out, now))
		m->record.flags |= THREADS_HAS_STACK;
	slices->waker = 0;
	slices->context = OFF_CPU_BY_NOBODY;
}

/*
 * Whether it had room. Not static, so that the verifier looks at it once, and not once for each way
 * that leads here: Linux 6.1 gives up then.
 */
__weak __noinline int slices_write(const struct slices_record *m, __u32 object)
{
	struct threads_log *log = log_of_cpu();
	__u64 words = THREADS_SWITCH_WORDS, at;
	const __u64 *record;

	if (!m)
		return false;
	record = (const __u64 *)&m->record;
	if (!log) {
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_NO_RING);
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

/* Notes which thread comes in on this CPU; returns whether the last one that did was followed. */
static __always_inline bool had_followed(const struct task_struct *task, __u32 number)
{
	struct sched_cpu *cpu = this_cpu();
	bool had = cpu && cpu->number;

	if (cpu) {
		cpu->tid = task->pid;
		cpu->number = number;
	}
	return had;
}

/* Writes a switch of threads, each of which is null if it is not followed. */
static __always_inline void slices_switch(struct slices_record *m, const struct task_struct *next,
					  struct sched_thread *out)
{
	bool had = had_followed(next, m->record.next);

	/* numbers, as the verifier wants no pointers to be combined */
	if (!m->record.prev && !m->record.next && !had)
		return;
	if (!slices_write(m, out ? out->slices.seen.object : 0) || !out)
		return;
	if (m->record.flags & THREADS_ARGUMENTS)
		__builtin_memcpy(out->slices.arguments, &m->arguments,
				 sizeof(out->slices.arguments));
	if (m->record.flags & THREADS_NEW_OBJECT)
		out->slices.object_reported = out->slices.seen.object;
}

/* -- the thread is back ------------------------------------------------------------------------ */

/* Copies the lock behind the frames of the wait's stack. Returns how many words that are. */
static __always_inline __u32 put_lock(struct capture_scratch *scratch,
				      const struct sched_thread *thread, __u64 began)
{
	struct threads_lock *lock = (void *)scratch->behind;

	_Static_assert(THREADS_LOCK_WORDS <= CAPTURE_BEHIND_WORDS, "a lock's words");
	lock->evidence = thread->lock;
	lock->began = began;
	lock->released = thread->released;
	lock->unused = 0;
	return THREADS_LOCK_WORDS;
}

static __always_inline void slices_stack(void *ctx, struct task_struct *task,
					 const struct sched_thread *thread,
					 struct sched_coming *coming, enum capture_walker walker,
					 void *table)
{
	struct capture_scratch *scratch = capture_begin(CAPTURE_SOURCE_SCHED, walker);
	bool with_kernel = walker == CAPTURE_WALKER_BACK && want_kernel;
	__u32 words;

	coming->tid = 0;
	if (!scratch)
		return;
	capture_identity(&scratch->record, THREADS_STACK, task, coming->in);
	scratch->record.identity.key = coming->number;
	scratch->record.identity.undecided = thread && thread->answer == FILTER_ASK;
	switch_stack(scratch, task);
	words = thread && thread->has_lock ? put_lock(scratch, thread, coming->out) : 0;
	capture_walk(ctx, scratch, table,
		     with_kernel ? CAPTURE_KERNEL_FRAMES_MAX - THREADS_LOCK_WORDS : 0, words, 0);
}

#endif
