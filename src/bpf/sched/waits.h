/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_WAITS_H
#define BPF_SCHED_WAITS_H

/*
 * off-cpu, run-queue, idle and lock: why threads do not run.
 *
 * A switch costs two timestamps. A thread's stack is read when a wait of sched_min_wait or more is
 * over, in the thread itself, at the end of the switch to it (sched_exit_tp): its registers and its
 * memory are those that it waited with. Shorter waits are summed up, and the one that completes
 * sched_period of them has its stack stand for all of them; so are those for which a CPU has no
 * stack left.
 */
#include "bpf/sched/arrival.h"
#include "bpf/sched/as_before.h"
#include "bpf/sched/switch_stack.h"
#include "bpf/sched/thread_lock.h"

/* Set before loading; ns. */
const volatile __u64 sched_period = 10000000;
const volatile bool sched_wakers = true; /* the stacks of those who end long waits */

/* Since when waits count: all probes are attached from then on. 0: not yet. */
__u64 sched_began;

/*
 * Where what is known of a wait goes, behind the record's frames; null: there is no room. Not on
 * the stack, of which the walk needs all that there is.
 */
static __always_inline struct off_cpu_wait *wait_place(struct capture_scratch *scratch)
{
	__u32 frames = scratch->record.user_frames + scratch->record.kernel_frames;
	struct off_cpu_wait *wait;

	if (frames > CAPTURE_FRAMES_MAX - OFF_CPU_BEHIND_WORDS)
		return NULL;
	wait = (void *)&scratch->frames[frames];
	__builtin_memset(wait, 0, sizeof(*wait));
	return wait;
}

/* -- sums -------------------------------------------------------------------------------------- */

/* Adds a wait, short or long, of which no stack is read. */
static __always_inline void sums_add(struct off_cpu_sums *sums, __u64 waited, __u64 ready)
{
	sums->waits += waited != 0;
	sums->readies += ready != 0;
	sums->waited += waited;
	sums->ready += ready;
}

/* What was not reported of a wait is reported with the next ones: no time is lost. */
static __always_inline void put_off(struct sched_thread *thread, struct sched_coming *coming)
{
	struct off_cpu_sums *sums = &thread->waits.sums;

	coming->tid = 0;
	sums->waits += coming->sums.waits;
	sums->readies += coming->sums.readies;
	sums->waited += coming->sums.waited;
	sums->ready += coming->sums.ready;
	sums_add(sums, coming->parts & OFF_CPU_REPORTS_WAIT ? coming->woken - coming->out : 0,
		 coming->parts & OFF_CPU_REPORTS_READY ? coming->in - coming->woken : 0);
}

/* Adds a short time. Returns what a period of them has come to; 0: it is not complete. */
static __always_inline __u64 add_up(__u64 *sum, __u32 *count, __u64 time, __u32 *counted)
{
	__u64 all = *sum + time;

	if (time)
		(*count)++;
	if (all < sched_period) {
		*sum = all;
		return 0;
	}
	*counted = *count;
	*sum = 0;
	*count = 0;
	return all;
}

/* -- the switch -------------------------------------------------------------------------------- */

/* Since when the thread is out, as far as waits count. 0: it is not, or that was not seen. */
static __always_inline __u64 waits_since(struct sched_thread *thread)
{
	/* the list of tasks moves it forward meanwhile */
	__u64 since = __sync_lock_test_and_set(&thread->waits.since, 0);

	return since && since < sched_began ? sched_began : since;
}

/*
 * It goes out again, and was not seen to come in: probes do not see the init of some virtual
 * machines go out, nor what comes in behind it. Its time is summed up.
 */
static __always_inline void end_unseen(struct task_struct *task, struct sched_thread *thread,
				       __u64 now)
{
	__u64 out = waits_since(thread), in = arrival_of(task, now), woken;

	if (!sched_began || in < sched_began)
		return;
	if (in < out) {
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_WAIT_UNSEEN);
		return;
	}
	woken = woken_between(thread, out, in);
	if (!woken)
		woken = in;
	sums_add(&thread->waits.sums, woken - out, in - woken);
	if (sched_locks && thread->state && thread->has_lock)
		lock_count_short(woken - out);
}

/* Before what is known of its last wait is replaced. */
static __always_inline void waits_go_out(struct task_struct *task, struct sched_thread *thread,
					 __u64 now)
{
	struct waits_thread *waits = &thread->waits;

	/* it did not return from a system call: it was preempted, or had a fault */
	if (sched_at_return && thread->later.tid)
		put_off(thread, &thread->later);
	if (waits->since)
		end_unseen(task, thread, now);
	/* no thread has ended this wait yet: one that ended an earlier one does not count */
	waits->waker_tid = 0;
	waits->waker_context = OFF_CPU_BY_NOBODY;
	waits->has_waker_stack = 0;
	waits->film = 0;
	waits->since = now;
}

/* Returns what then has the stack of the wait that is over; null: it has none. */
static __always_inline struct sched_coming *
waits_come_in(struct task_struct *task, struct sched_thread *thread, __u64 woken, __u64 now)
{
	struct waits_thread *waits = &thread->waits;
	__u64 out = waits->since ? waits_since(thread) : 0, ahead, least;
	struct sched_cpu *cpu = this_cpu();
	struct off_cpu_sums sums = {};
	struct sched_coming *coming;
	__u32 parts = 0;

	if (!out || !sched_began || !cpu)
		return NULL;
	/* also to a moment behind this one */
	if (out > now)
		out = now;
	if (!woken || woken > now)
		woken = now;
	if (woken < out)
		woken = out;
	waits->film = 0;
	ahead = stacks_ahead(cpu, now);
	least = ahead >= BURST_NS / 2 ? sched_period : sched_min_wait;
	if (sched_locks && thread->state && thread->has_lock &&
	    (woken - out < least || ahead >= BURST_NS))
		lock_count_short(woken - out);
	if (now < waits->quiet_until || ahead >= BURST_NS) {
		sums_add(&waits->sums, woken - out, now - woken);
		return NULL;
	}
	if (woken - out >= least)
		parts |= OFF_CPU_REPORTS_WAIT;
	else
		sums.waited =
			add_up(&waits->sums.waited, &waits->sums.waits, woken - out, &sums.waits);
	if (now - woken >= least)
		parts |= OFF_CPU_REPORTS_READY;
	else
		sums.ready = add_up(&waits->sums.ready, &waits->sums.readies, now - woken,
				    &sums.readies);
	if (!parts && !sums.waited && !sums.ready)
		return NULL;
	pay_for_stack(cpu, now);
	coming = sched_at_return ? &thread->later : &cpu->coming;
	/* the end of the switch to that one was not seen */
	if (coming->tid)
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_WAIT_UNSEEN);
	coming->tid = task->pid;
	coming->number = 0;
	coming->parts = parts;
	coming->state = thread->state;
	coming->out = out;
	coming->woken = woken;
	coming->in = now;
	coming->sums = sums;
	return coming;
}

/*
 * A thread ends: what its shorter waits have come to since the last stack is reported without one.
 */
static __noinline void send_rest(struct task_struct *task, bool is_last)
{
	struct sched_thread *thread = sched_find(task);
	struct capture_scratch *scratch;
	struct off_cpu_wait *wait;
	bool sent = false;
	__u64 time;

	if (!thread || (!thread->waits.sums.waited && !thread->waits.sums.ready))
		return;
	time = thread->waits.sums.waited + thread->waits.sums.ready;
	scratch = capture_begin(CAPTURE_SOURCE_SCHED, CAPTURE_WALKER_NONE);
	if (!scratch) {
		if (is_last)
			capture_count_losses(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_WAIT_REST,
					     time / 1000);
		return;
	}
	capture_identity(&scratch->record, OFF_CPU_REST, task, 0);
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	wait = wait_place(scratch);
	if (wait) {
		wait->sums = thread->waits.sums;
		sent = capture_send_with(scratch, OFF_CPU_WAIT_WORDS);
		if (sent)
			thread->waits.sums = (struct off_cpu_sums){};
	}
	capture_end(scratch);
	if (!sent && is_last)
		capture_count_losses(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_WAIT_REST, time / 1000);
}

/* -- the stacks of wakers ---------------------------------------------------------------------- */

/*
 * Whether the stack of the current thread has to be walked: not one that it had before. Its
 * registers are read, and a walk is wanted if it has some.
 */
static __always_inline bool needs_walk(struct capture_scratch *scratch, struct task_struct *task,
				       bool with_kernel)
{
	struct as_before_thread *thread = as_before_memory(task);
	bool as_before = thread && as_before_find(scratch, thread, with_kernel);

	scratch->argument = as_before;
	if (as_before && !sched_check)
		return false;
	scratch->notes.count = 0;
	scratch->notes.wanted = thread && !as_before && !thread->pause;
	return true;
}

/* It was walked: the kernel's part follows, and what the next wait is compared with. */
static __always_inline void end_walk(void *ctx, struct capture_scratch *scratch,
				     struct task_struct *task, bool with_kernel)
{
	struct as_before_thread *thread = as_before_memory(task);

	capture_kernel_stack(ctx, scratch,
			     with_kernel ? CAPTURE_KERNEL_FRAMES_MAX - OFF_CPU_BEHIND_WORDS : 0);
	if (thread && thread->pause)
		thread->pause--;
	else if (thread && !scratch->argument)
		as_before_note(scratch, thread, with_kernel);
	scratch->notes.wanted = 0;
}

/*
 * The stack with which a thread ends the wait of another one: its record is begun; null: it has
 * none.
 */
static __noinline struct capture_scratch *begin_waker(__u32 tid, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sched_cpu *cpu = this_cpu();
	struct sched_thread *thread;
	struct capture_scratch *scratch;

	if (task->flags & PF_KTHREAD || !task->mm || !want_user)
		return NULL;
	if (!filter_everything) {
		thread = sched_find(task);
		if (!thread || thread->answer != FILTER_YES)
			return NULL;
	}
	if (!cpu || stacks_ahead(cpu, now) >= BURST_NS / 2) {
		capture_count_loss(CAPTURE_SOURCE_SCHED, CAPTURE_LOSS_WAKER_STACK);
		return NULL;
	}
	scratch = capture_begin(CAPTURE_SOURCE_SCHED, CAPTURE_WALKER_WAKING);
	if (!scratch)
		return NULL;
	pay_for_stack(cpu, now);
	capture_identity(&scratch->record, OFF_CPU_WAKER, task, 0);
	scratch->record.head.time = now;
	scratch->record.identity.key = tid;
	if (capture_registers(scratch, task))
		capture_wants_walk(scratch);
	return scratch;
}

static __always_inline void send_waker(struct capture_scratch *scratch)
{
	if (!capture_send_with(scratch, 0))
		as_before_not_sent(&scratch->record, bpf_get_current_task_btf());
	capture_end(scratch);
}

/* The current thread, or what it was interrupted by, ends the wait of a thread. The last thing. */
static __always_inline void waits_wake(void *ctx, struct task_struct *task,
				       struct sched_thread *thread, bool is_long, __u8 context,
				       __u64 now)
{
	struct waits_thread *waits = &thread->waits;
	struct capture_scratch *scratch = NULL;
	__u64 id;

	waits->waker_context = is_long ? context : OFF_CPU_BY_NOBODY;
	if (!is_long)
		return;
	id = bpf_get_current_pid_tgid();
	waits->waker_pid = id >> 32;
	waits->waker_tid = (__u32)id;
	bpf_get_current_comm(waits->waker_comm, sizeof(waits->waker_comm));
	if (sched_wakers && context == OFF_CPU_BY_THREAD)
		scratch = begin_waker(task->pid, now);
	waits->has_waker_stack = scratch != NULL;
	if (!scratch)
		return;
	if (scratch->walks && needs_walk(scratch, bpf_get_current_task_btf(), false))
		capture_walk_then(ctx, scratch, &walk_waking, CAPTURE_DONE_SCHED_WAKING);
	else
		send_waker(scratch);
}

/* -- the thread is back ------------------------------------------------------------------------ */

static __always_inline void fill_wait(struct off_cpu_wait *wait, struct capture_scratch *scratch,
				      struct task_struct *task, struct sched_coming *coming)
{
	const struct sched_thread *thread;

	wait->out = coming->out;
	wait->woken = coming->woken;
	wait->in = coming->in;
	wait->state = coming->state;
	wait->reports = coming->parts;
	wait->sums = coming->sums;
	read_evidence(wait, scratch, task);
	thread = sched_find(task);
	if (!thread)
		return;
	wait->waker_pid = thread->waits.waker_pid;
	wait->waker_tid = thread->waits.waker_tid;
	wait->waker_context = thread->waits.waker_context;
	wait->has_waker_stack = thread->waits.has_waker_stack;
	wait->waker_released = thread->released;
	__builtin_memcpy(wait->waker_comm, thread->waits.waker_comm, sizeof(wait->waker_comm));
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	wait->has_lock = sched_locks && coming->state && thread->has_lock;
	if (wait->has_lock)
		*(struct lock_evidence *)(wait + 1) = thread->lock;
}

/*
 * A full ring must not have each wait walk a stack that cannot be sent: the thread is quiet for a
 * period.
 */
static __noinline void keep_back(struct task_struct *task, struct sched_coming *coming)
{
	struct sched_thread *thread = sched_find(task);

	if (!thread)
		return;
	thread->waits.quiet_until = coming->in + sched_period;
	put_off(thread, coming);
}

/* Sends a wait, with the frames that it has. */
static __always_inline void send_wait(struct capture_scratch *scratch, struct task_struct *task,
				      struct sched_coming *coming)
{
	struct off_cpu_wait *wait = wait_place(scratch);

	if (wait)
		fill_wait(wait, scratch, task, coming);
	if (!wait || !capture_send_with(scratch, off_cpu_words(wait))) {
		as_before_not_sent(&scratch->record, task);
		keep_back(task, coming);
	}
	capture_end(scratch);
}

/* Begins with a wait that is over, in the thread that had waited. */
static __always_inline void begin_wait(void *ctx, struct task_struct *task,
				       struct sched_coming *coming, enum capture_walker walker,
				       void *table, enum capture_done done)
{
	struct capture_scratch *scratch = capture_begin(CAPTURE_SOURCE_SCHED, walker);
	bool with_kernel = walker == CAPTURE_WALKER_BACK && want_kernel;

	if (!scratch) {
		keep_back(task, coming);
		return;
	}
	coming->tid = 0;
	capture_identity(&scratch->record, OFF_CPU_WAIT, task, coming->woken - coming->out);
	scratch->record.identity.key = coming->number;
	switch_stack(scratch, task);
	if (needs_walk(scratch, task, with_kernel))
		capture_walk_then(ctx, scratch, table, done);
	else
		send_wait(scratch, task, coming);
}

#endif
