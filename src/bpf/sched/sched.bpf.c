// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The scheduler's hooks, one program each for all events: what they measure (thread.h) is kept as
 * waits (waits.h), as slices (slices.h), or as both.
 */
#include "bpf/sched/list.h"
#include "bpf/sched/slices.h"
#include "bpf/sched/waits.h"

/* -- threads ----------------------------------------------------------------------------------- */

/* It is called something else, maybe by another thread: it is introduced again. */
SEC("tp_btf/task_rename")
int BPF_PROG(sched_rename, struct task_struct *task)
{
	struct sched_thread *thread = sched_find(task);
	struct sched_cpu *cpu = this_cpu();

	if (thread)
		thread->slices.known &= ~KNOWN_BY_NAME;
	if (cpu && cpu->tid == (__u32)task->pid)
		cpu->tid = 0; /* so that what it wakes introduces it, too */
	return 0;
}

/* It has another name, by which it may be selected: an answer of before does not count any more. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_exec, struct task_struct *task)
{
	struct sched_thread *thread = sched_find(task);

	if (thread) {
		thread->asked = 0;
		thread->slices.executed = bpf_ktime_get_ns();
	}
	return 0;
}

/*
 * Not just at its last switch: by then the process may be gone for those who waited for its end,
 * and no probe listens any more.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_exit, struct task_struct *task)
{
	send_rest(task, false);
	as_before_forget(task);
	return 0;
}

/* -- wakes ------------------------------------------------------------------------------------- */

SEC("tp_btf/sched_waking")
int sched_waking_done(void *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_WAKING);

	if (!sched_waits || !scratch)
		return 0;
	end_walk(ctx, scratch, bpf_get_current_task_btf(), false);
	send_waker(scratch);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct sched_thread *thread = sched_find(task);
	__u8 context = OFF_CPU_BY_NOBODY;
	__u64 now, out;
	bool is_long;

	if (!thread || (!filter_everything && thread->answer == FILTER_NO))
		return 0;
	now = bpf_ktime_get_ns();
	thread->woken = now;
	out = thread->out;
	if (sched_waits && !out)
		out = thread->waits.since;
	is_long = out && now - out >= sched_min_wait;
	if (sched_slices || is_long)
		context = waker_context();
	if (sched_slices)
		context = note_waker(thread, context);
	if (sched_locks && is_long && (sched_waits || thread->has_lock))
		thread->released = context == OFF_CPU_BY_THREAD
					   ? lock_released(bpf_get_current_task_btf())
					   : LOCK_RELEASED_NONE;
	if (sched_slices)
		slices_wake(task, thread, is_long, now);
	if (sched_waits)
		waits_wake(ctx, task, thread, is_long, context, now);
	return 0;
}

/* Its maker wakes a thread for the first time: it is ready since then. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_made, struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	struct sched_thread *thread = sched_selected(task, false, now);

	if (!thread)
		return 0;
	thread->woken = now;
	if (sched_waits)
		thread->waits.since = capture_clamped(now);
	if (sched_slices && is_followed(task, thread))
		note_waker(thread, waker_context());
	return 0;
}

/* -- the switch -------------------------------------------------------------------------------- */

/* A thread goes out: what is measured then, for all events. */
static __always_inline void go_out(struct task_struct *task, struct sched_thread *thread,
				   __u32 state, __u64 now)
{
	if (sched_waits && !(state & OFF_CPU_STATE_DEAD))
		waits_go_out(task, thread, capture_clamped(now));
	thread->state = state;
	thread->out = now;
	forget_wake(task, thread, state, now);
	/* preempted as it comes back, it has its stack read still */
	if (!sched_locks || !state)
		return;
	thread->released = LOCK_RELEASED_NONE;
	thread->has_lock = false;
	/* slices read the call themselves */
	if (!sched_slices && !(task->flags & (PF_KTHREAD | PF_IO_WORKER))) {
		struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);

		lock_begin(task, thread, regs, call_of(task, regs));
	}
}

/* A thread comes in: for all events, it was out for the same time. */
static __always_inline void come_in(struct slices_record *m, struct task_struct *task,
				    struct sched_thread *thread, __u64 now)
{
	struct sched_coming *coming = NULL;
	__u64 out = thread->out, woken;

	if (sched_waits && !out)
		out = thread->waits.since;
	woken = woken_between(thread, out, now);
	if (sched_waits)
		coming = waits_come_in(task, thread, woken, capture_clamped(now));
	if (sched_slices && thread->slices.known & KNOWN_AS_SELECTED)
		slices_come_in(m, task, thread, coming, woken, now);
	thread->out = thread->woken = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	/* preempted on its way to wait, it is ready */
	__u32 state = preempt ? 0 : prev_state & OFF_CPU_STATE_ANY;
	struct sched_thread *out = NULL, *in = NULL;
	struct slices_record m = {};
	__u64 now = bpf_ktime_get_ns();

	m.record.time = now;
	if (sched_waits && state & OFF_CPU_STATE_DEAD)
		send_rest(prev, true);
	if (prev->pid)
		out = sched_selected(prev, true, now);
	if (out)
		go_out(prev, out, state, now);
	if (sched_slices && out && is_followed(prev, out))
		slices_go_out(&m, prev, out);
	if (next->pid)
		in = sched_slices ? sched_selected(next, false, now) : sched_find(next);
	if (sched_slices && in)
		is_followed(next, in);
	if (in)
		come_in(&m, next, in, now);
	if (sched_slices)
		slices_switch(&m, next, out);
	return 0;
}

/* -- the thread is back ------------------------------------------------------------------------ */

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(sched_back, bool is_switch)
{
	struct sched_cpu *cpu = this_cpu();
	struct task_struct *task;

	if (!cpu || !cpu->coming.tid)
		return 0;
	task = bpf_get_current_task_btf();
	if ((__u32)task->pid != cpu->coming.tid)
		return 0;
	if (sched_waits)
		begin_wait(ctx, task, &cpu->coming, CAPTURE_WALKER_BACK, &walk_back,
			   CAPTURE_DONE_SCHED_BACK);
	else
		slices_stack(ctx, task, sched_find(task), &cpu->coming, CAPTURE_WALKER_BACK,
			     &walk_back);
	return 0;
}

SEC("tp_btf/sched_exit_tp")
int sched_back_done(void *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_BACK);
	struct task_struct *task = bpf_get_current_task_btf();
	struct sched_cpu *cpu = this_cpu();

	if (!sched_waits || !scratch || !cpu)
		return 0;
	end_walk(ctx, scratch, task, want_kernel);
	send_wait(scratch, task, &cpu->coming);
	return 0;
}

/* Instead of that. What the kernel did while the thread waited is not on its stack any more. */
SEC("tp_btf/sys_exit")
int BPF_PROG(sched_return, struct probe_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sched_thread *thread = sched_find(task);

	if (!thread || !thread->later.tid)
		return 0;
	if (sched_waits)
		begin_wait(ctx, task, &thread->later, CAPTURE_WALKER_RETURN, &walk_return,
			   CAPTURE_DONE_SCHED_RETURN);
	else
		slices_stack(ctx, task, thread, &thread->later, CAPTURE_WALKER_RETURN,
			     &walk_return);
	return 0;
}

SEC("tp_btf/sys_exit")
int sched_return_done(void *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_RETURN);
	struct task_struct *task = bpf_get_current_task_btf();
	struct sched_thread *thread = sched_find(task);

	if (!sched_waits || !scratch)
		return 0;
	end_walk(ctx, scratch, task, false);
	if (thread)
		send_wait(scratch, task, &thread->later);
	else
		capture_end(scratch);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
