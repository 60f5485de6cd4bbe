/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_LIST_H
#define BPF_SCHED_LIST_H

/*
 * The list of tasks: threads that wait already when the recording begins, or still when a film
 * ends; and all threads at one moment, with what those wait for that do.
 */
#include "bpf/sched/listing.h"
#include "bpf/sched/slices.h"
#include "bpf/sched/waits.h"

/* enum sched_listing: what the list is for. Set before each reading. */
__u32 sched_listing;

/*
 * The number of the film, from 1: which of the waits that go on it has the stacks of. User space
 * counts it up when it has forgotten them.
 */
__u32 sched_film;

/* -- waits ------------------------------------------------------------------------------------- */

/* It runs: the wait of before all probes were attached, which is known, ended unseen. */
static __always_inline void forget_waiting(struct task_struct *task)
{
	struct sched_thread *thread = sched_find(task);
	__u64 since;

	if (!thread || thread->out)
		return;
	since = thread->waits.since;
	if (since && since < sched_began)
		__sync_val_compare_and_swap(&thread->waits.since, since, 0);
}

/*
 * What it waits in, as far as that was not seen: since it was listed before all probes were
 * attached, it may have run, and wait for something else now.
 */
static __always_inline void begin_state(struct task_struct *task, struct sched_thread *thread)
{
	__u64 woken = thread->woken;

	if (woken && woken >= sched_began)
		return;
	thread->state = ((struct task_struct___sched *)task)->__state;
	if (woken && thread->state)
		__sync_val_compare_and_swap(&thread->woken, woken, 0);
}

/* It waits since before anything was seen: as if it had just begun. */
static __always_inline void begin_waiting(struct task_struct *task, __u64 now)
{
	struct task_struct___sched *more = (void *)task;
	enum filter_answer answer = filter_other(task);
	__u64 since = sched_began ? sched_began : now, known;
	struct sched_thread *thread;

	if (answer == FILTER_NO || filter_waits_for_us(task))
		return;
	if (more->on_cpu) {
		forget_waiting(task);
		return;
	}
	thread = sched_make(task);
	if (!thread)
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_THREAD_NO_MEMORY);
	if (!thread || thread->out)
		return;
	known = thread->waits.since;
	if (known && known >= sched_began)
		return;
	thread->answer = answer;
	begin_state(task, thread);
	__sync_val_compare_and_swap(&thread->waits.since, known, since);
	/* it may have come in just now, and was not known to wait */
	if (more->on_cpu)
		__sync_val_compare_and_swap(&thread->waits.since, since, 0);
}

/*
 * The time that is over of a wait that goes on, which from then on begins now. False: it is none.
 * *is_known: the film has its stack.
 */
static __always_inline bool split_wait(struct off_cpu_wait *wait, struct task_struct *task,
				       struct sched_thread *thread, __u64 now, bool *is_known)
{
	__u64 out = thread->waits.since, woken = thread->woken;
	__u32 state = ((struct task_struct___sched *)task)->__state;

	/* what is short would be lost as a part of its own */
	if (!out || out >= now || now - out < sched_min_wait)
		return false;
	/* in this order: it may run just now, and then has another stack */
	*is_known = thread->waits.film == sched_film;
	thread->waits.film = sched_film;
	if (__sync_val_compare_and_swap(&thread->waits.since, out, now) != out) {
		thread->waits.film = 0;
		return false;
	}
	if (out < sched_began)
		out = sched_began;
	wait->out = out;
	wait->in = now;
	wait->state = thread->state;
	wait->reports = OFF_CPU_REPORTS_WAIT | OFF_CPU_REPORTS_READY;
	if (wait->state && state && state != OFF_CPU_STATE_WAKING)
		wait->woken = now;
	else
		wait->woken = wait->state && woken > out && woken < now ? woken : out;
	return true;
}

/* Writes what OFF_CPU_STILL or OFF_CPU_GOES_ON has. */
static __always_inline void list_thread(struct seq_file *seq, struct capture_scratch *scratch,
					struct task_struct *task, struct off_cpu_wait *wait,
					__u32 kind, const struct sched_thread *thread, __u64 now)
{
	struct off_cpu_wait *place;

	listing_begin(scratch, task, kind, wait->in && kind == OFF_CPU_STILL, now);
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	read_evidence(wait, scratch, task);
	place = listing_place(scratch);
	wait->has_lock = sched_locks && thread->state && thread->has_lock;
	if (wait->has_lock)
		*(struct lock_evidence *)(place + 1) = thread->lock;
	*place = *wait;
	listing_write(seq, scratch, task, off_cpu_words(wait));
}

static __always_inline void list_waiting(struct seq_file *seq, struct task_struct *task, __u64 now)
{
	struct sched_thread *thread = sched_find(task);
	struct capture_scratch *scratch;
	struct off_cpu_wait wait = {};
	struct off_cpu_sums *sums;
	bool is_known = false;

	if (!thread || !listing_has_room(seq))
		return;
	/* before anything is removed from the thread that could not be reported */
	scratch = capture_begin(CAPTURE_SOURCE_SCHED, CAPTURE_WALKER_NONE);
	if (!scratch)
		return;
	sums = &thread->waits.sums;
	wait.sums.waited = __sync_lock_test_and_set(&sums->waited, 0);
	wait.sums.ready = __sync_lock_test_and_set(&sums->ready, 0);
	wait.sums.waits = __sync_lock_test_and_set(&sums->waits, 0);
	wait.sums.readies = __sync_lock_test_and_set(&sums->readies, 0);
	/* for the holder of a lock, its word is read each time, with the stack */
	if (split_wait(&wait, task, thread, now, &is_known) || wait.sums.waited || wait.sums.ready)
		list_thread(seq, scratch, task, &wait,
			    wait.in && is_known && !sched_locks ? OFF_CPU_GOES_ON : OFF_CPU_STILL,
			    thread, now);
	capture_end(scratch);
}

/* -- threads ----------------------------------------------------------------------------------- */

static __always_inline __u32 listed_object(struct task_struct *task, const struct probe_regs *regs,
					   __u8 descriptor)
{
	struct file___descriptor *file;

	if (task->flags & PF_IO_WORKER)
		return uring_object(task, uring_worked_on(task), 0);
	file = descriptor_file(task, regs);
	return file ? object_of(task, file, descriptor, REGS_CALL_ARG1(regs), SCHED_OBJECT) : 0;
}

/* Of a thread that waits for entries of io_uring, one that is in flight. */
static __always_inline __u32 listed_in_flight(struct task_struct *task,
					      const struct probe_regs *regs)
{
	__u32 count = 0;
	__u64 entry;

	if (task->flags & PF_IO_WORKER || REGS_CALL(regs) != SYSCALL_IO_URING_ENTER ||
	    !(REGS_CALL_ARG4(regs) & URING_ENTER_GETEVENTS))
		return 0;
	entry = uring_in_flight(uring_of_file((__u64)descriptor_file(task, regs)), &count);
	return uring_object(task, entry, count);
}

static __always_inline void write_thread(struct seq_file *seq, struct task_struct *task,
					 struct sched_thread *thread)
{
	struct capture_scratch *scratch = capture_begin(CAPTURE_SOURCE_SCHED, CAPTURE_WALKER_NONE);
	bool with_stacks = sched_listing == SCHED_LIST_THREADS_STACKS;
	struct task_struct___sched *more = (void *)task;
	struct threads_listed *listed;
	__u32 object = 0;
	bool runs;
	__u8 count;

	if (!scratch)
		return;
	count = count_of(task);
	barrier();
	runs = more->on_cpu != 0;
	listing_begin(scratch, task, THREADS_LISTED, !runs && with_stacks, bpf_ktime_get_ns());
	if (!runs && !with_stacks && !(task->flags & PF_KTHREAD) && task->mm)
		capture_registers(scratch, task);
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	scratch->record.identity.key = thread->slices.number;
	scratch->record.identity.value = 1;
	listed = listing_place(scratch);
	__builtin_memset(listed, 0, sizeof(*listed));
	read_evidence(&listed->wait, scratch, task);
	if (listed->wait.descriptor)
		object = listed_object(task, &scratch->entry, listed->wait.descriptor);
	if (listed->wait.descriptor == OFF_CPU_FD_IO_URING && more->__state & OFF_CPU_STATE_SLEEPS)
		listed->ready = listed_in_flight(task, &scratch->entry);
	listed->object = object;
	listed->wait.state = more->__state;
	listed->thread = thread->slices.number;
	listed->runs = runs;
	listed->cpu = more->thread_info.cpu;
	listed->count = count;
	barrier();
	listed->moved = (!runs && more->on_cpu) || count_of(task) != count;
	listing_write(seq, scratch, task, THREADS_LISTED_WORDS);
	capture_end(scratch);
}

static __always_inline void list_one(struct seq_file *seq, struct task_struct *task)
{
	struct sched_thread *thread;

	if (((struct task_struct___sched *)task)->__state & OFF_CPU_STATE_DEAD ||
	    filter_other(task) == FILTER_NO || filter_waits_for_us(task) || !listing_has_room(seq))
		return;
	thread = sched_make(task);
	if (!thread)
		return;
	/* of a process that ends the answer is forgotten: what it was counts: sched_selected() */
	if (!thread->asked || !(task->flags & PF_EXITING))
		ask_filter(task, thread, false, bpf_ktime_get_ns());
	if (thread->answer != FILTER_NO && is_followed(task, thread))
		write_thread(seq, task, thread);
}

SEC("iter/task")
int sched_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || !task->pid)
		return 0;
	if (sched_slices && sched_listing >= SCHED_LIST_THREADS)
		list_one(ctx->meta->seq, task);
	else if (sched_waits && sched_listing == SCHED_LIST_WAITING)
		list_waiting(ctx->meta->seq, task, capture_now());
	else if (sched_waits)
		begin_waiting(task, capture_now());
	return 0;
}

#endif
