/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OFF_CPU_LIST_H
#define BPF_SCHED_OFF_CPU_LIST_H

/*
 * Threads that wait already when the recording begins, or still when a film ends: the list of
 * tasks.
 */

#include "bpf/sched/listing.h"

/* enum off_cpu_listing: what the list is for. Set before each reading. */
__u32 off_cpu_listing;

/*
 * The number of the film, from 1: which of the waits that go on it has the stacks of. User space
 * counts it up when it has forgotten them.
 */
__u32 off_cpu_film;

/* It waits since before anything was seen: as if it had just begun. */
static __always_inline void begin_waiting(struct task_struct *task, __u64 now)
{
	struct task_struct___off_cpu *more = (void *)task;
	enum filter_answer answer = filter_other(task);
	struct off_cpu_thread *thread;

	if (answer == FILTER_NO || filter_waits_for_us(task))
		return;
	thread = bpf_task_storage_get(&off_cpu_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		capture_count_loss(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_NO_MEMORY);
	if (!thread || thread->out || thread->asked)
		return;
	thread->answer = answer;
	thread->state = more->__state;
	__sync_val_compare_and_swap(&thread->out, 0, now);
}

/*
 * The time that is over of a wait that goes on, which from then on begins now. False: it is none.
 * *is_told: the film has its stack.
 */
static __always_inline bool split_wait(struct off_cpu_wait *wait, struct task_struct *task,
				       struct off_cpu_thread *thread, __u64 now, bool *is_told)
{
	__u64 out = thread->out, woken = thread->woken;
	__u32 state = ((struct task_struct___off_cpu *)task)->__state;

	/* what is short would be lost as a part of its own */
	if (!out || out >= now || now - out < off_cpu_min_wait)
		return false;
	/* in this order: it may run just now, and then has another stack */
	*is_told = thread->told == off_cpu_film;
	thread->told = off_cpu_film;
	if (__sync_val_compare_and_swap(&thread->out, out, now) != out) {
		thread->told = 0;
		return false;
	}
	wait->out = out;
	wait->in = now;
	wait->state = thread->state;
	wait->tells = OFF_CPU_TELLS_WAIT | OFF_CPU_TELLS_READY;
	if (wait->state && state && state != OFF_CPU_STATE_WAKING)
		wait->woken = now;
	else
		wait->woken = wait->state && woken > out && woken < now ? woken : out;
	return true;
}

/* Writes what OFF_CPU_STILL or OFF_CPU_GOES_ON has. */
static __always_inline void list_thread(struct seq_file *seq, struct capture_scratch *scratch,
					struct task_struct *task, struct off_cpu_wait *wait,
					__u32 kind, bool undecided, bool has_lock, __u64 now)
{
	void *place;

	listing_begin(scratch, task, kind, wait->in && kind == OFF_CPU_STILL, now);
	scratch->record.identity.undecided = undecided;
	take_evidence(wait, scratch, task);
	place = listing_place(scratch);
	wait->has_lock = has_lock && lock_tell(task, place + sizeof(*wait));
	__builtin_memcpy(place, wait, sizeof(*wait));
	listing_write(seq, scratch, task, off_cpu_words(wait));
}

static __always_inline void list_waiting(struct seq_file *seq, struct task_struct *task, __u64 now)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
	struct capture_scratch *scratch;
	struct off_cpu_wait wait = {};
	bool is_told = false;

	if (!thread || !listing_has_room(seq))
		return;
	/* before anything is taken from the thread that could not be told of */
	scratch = capture_begin(CAPTURE_SOURCE_OFF_CPU, CAPTURE_WALKER_NONE);
	if (!scratch)
		return;
	wait.short_waited = __sync_lock_test_and_set(&thread->short_waited, 0);
	wait.short_ready = __sync_lock_test_and_set(&thread->short_ready, 0);
	wait.short_waits = __sync_lock_test_and_set(&thread->short_waits, 0);
	wait.short_readies = __sync_lock_test_and_set(&thread->short_readies, 0);
	/* for the holder of a lock, its word is read each time, with the stack */
	if (split_wait(&wait, task, thread, now, &is_told) || wait.short_waited || wait.short_ready)
		list_thread(seq, scratch, task, &wait,
			    wait.in && is_told && !off_cpu_locks ? OFF_CPU_GOES_ON : OFF_CPU_STILL,
			    thread->answer == FILTER_ASK, off_cpu_locks && thread->has_lock, now);
	capture_end(scratch);
}

SEC("iter/task")
int off_cpu_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___off_cpu *more = (void *)task;
	__u64 now = capture_now();

	if (!task || !task->pid)
		return 0;
	if (off_cpu_listing == OFF_CPU_LIST_WAITING)
		list_waiting(ctx->meta->seq, task, now);
	else if (!more->on_cpu)
		begin_waiting(task, now);
	return 0;
}

#endif
