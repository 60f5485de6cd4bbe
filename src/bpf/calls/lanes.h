/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_LANES_H
#define BPF_CALLS_LANES_H

/*
 * Lanes: the stacks of one thread.
 *
 * A thread's own stack is the memory mapping that grows by itself, or the one whose end holds the
 * thread's control block (where the register fs points). The alternate signal stack is known to the
 * kernel. All others are coroutines': often many lie in one mapping (they come from malloc()), so
 * that only the distance tells them apart.
 *
 * The kernel's return probes know nothing of all that. They are a list per thread, and a call that
 * has a lower stack pointer than the code that runs is taken for gone and forgotten; but its return
 * address stays changed, so that the program is killed when it returns there. So no return is asked
 * for
 *
 *	on a coroutine's stack,
 *	as long as one is due on another stack, except that a signal handler returns before the code
 *	that it interrupted: that is in order if its stack lies lower.
 */

#include "bpf/calls/stack.h"

/* ulimit -s of most systems */
#define STACK_GROWTH_MAX (8ull << 20)

/* A stack of unknown size, seen for the first time near its upper end. */
#define STACK_BELOW (32ull << 10)
#define STACK_ABOVE (2ull << 10)

struct stack_search {
	struct task_struct *task;
	__u64 sp;
	struct calls_lane lane;
};

static long find_stack(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	struct stack_search *search = context;
	__u64 start = vma->vm_start, end = vma->vm_end, control = TASK_THREAD_POINTER(search->task);

	search->lane.kind = LANE_OWN;
	search->lane.low = start;
	search->lane.high = end;
	/*
	 * the first stack of a process grows: as far as its limit, which is seldom more than this
	 */
	if (vma->vm_flags & VM_GROWSDOWN) {
		search->lane.low -= STACK_GROWTH_MAX;
		return 0;
	}
	if (control > search->sp && control < end && search->task->pid != search->task->tgid) {
		search->lane.high = control;
		return 0;
	}
	search->lane.kind = LANE_OTHER;
	if (start < search->sp - STACK_BELOW)
		search->lane.low = search->sp - STACK_BELOW;
	if (end > search->sp + STACK_ABOVE)
		search->lane.high = search->sp + STACK_ABOVE;
	return 0;
}

/* May the kernel be asked for returns on the lane that is n? */
static __always_inline bool returns_are_safe(struct calls_thread *t, __u32 n)
{
	struct calls_lane *here = lane_at(t, n), *lane;
	struct calls_frame *top;
	__u32 i;

	if (here->kind == LANE_OTHER || here->kind == LANE_UNKNOWN)
		return false;
	for (i = 0; i < CALLS_LANES; i++) {
		lane = lane_at(t, i);
		if (i == n || !lane->returns)
			continue;
		top = frame_at(t, lane->top);
		if (here->kind != LANE_SIGNAL || !top || top->sp < here->high)
			return false;
	}
	return true;
}

/* A handler that ran on the signal stack has ended when something else runs. */
static __always_inline void leave_lane(struct calls_thread *t)
{
	struct calls_lane *lane = lane_now(t);

	if (lane->kind == LANE_SIGNAL && lane->top)
		calls_pop_up_to(t, ~0ull, bpf_ktime_get_ns(), CALLS_INFERRED);
}

/* Not static, so that the verifier looks at it once. */
__noinline int calls_enter_lane(struct calls_thread *t, __u32 n)
{
	if (!t)
		return 0;
	t->lane = n;
	t->no_return = !returns_are_safe(t, n);
	return 0;
}

static __always_inline void look_at_stack(struct stack_search *search, __u64 sp)
{
	struct task_struct *task = search->task;

	search->sp = sp;
	if (sp - task->sas_ss_sp < task->sas_ss_size) {
		search->lane.low = task->sas_ss_sp;
		search->lane.high = task->sas_ss_sp + task->sas_ss_size;
		search->lane.kind = LANE_SIGNAL;
		return;
	}
	if (!bpf_find_vma(task, sp, find_stack, search, 0))
		return;
	/*
	 * not to be known now, since the process is changing its mappings: at the next call,
	 * perhaps
	 */
	search->lane.low = sp - STACK_ABOVE;
	search->lane.high = sp + STACK_ABOVE;
	search->lane.kind = LANE_UNKNOWN;
}

static __always_inline bool is_inside(const struct calls_lane *lane, __u64 sp)
{
	return sp - lane->low < lane->high - lane->low;
}

/* What is known of the stack that the thread is on now stays, though a look at it tells less. */
static __always_inline bool knows_less(const struct calls_lane *seen,
				       const struct calls_lane *known)
{
	if (seen->kind == LANE_UNKNOWN)
		return known->kind != LANE_UNKNOWN;
	return seen->kind == LANE_OTHER && known->kind == LANE_OTHER;
}

/* The thread is on another stack than before, or on one that was not to be known. */
__noinline int calls_change_lane(struct calls_thread *t, __u64 sp)
{
	struct stack_search search = {.task = bpf_get_current_task_btf()};
	struct calls_lane *lane;
	__u32 i;

	if (!t)
		return 0;
	leave_lane(t);
	for (i = 0; i < CALLS_LANES; i++) {
		lane = lane_at(t, i);
		if (lane->kind != LANE_UNKNOWN && is_inside(lane, sp)) {
			calls_enter_lane(t, i);
			return 0;
		}
	}
	look_at_stack(&search, sp);
	for (i = 0; i < CALLS_LANES; i++) {
		lane = lane_at(t, i);
		if (search.lane.low >= lane->high || lane->low >= search.lane.high)
			continue;
		/* of two coroutines next to each other, the known one keeps what it has */
		if (knows_less(&search.lane, lane)) {
			if (lane->low > sp)
				search.lane.high = lane->low;
			else
				search.lane.low = lane->high;
			continue;
		}
		lane->low = search.lane.low;
		lane->high = search.lane.high;
		lane->kind = search.lane.kind;
		calls_enter_lane(t, i);
		return 0;
	}
	if (t->lanes < CALLS_LANES) {
		i = t->lanes++;
	} else {
		/* of the many stacks, one that has nothing open is forgotten */
		for (i = CALLS_LANES - 1; i > 0; i--)
			if (!t->lane_at[i & (CALLS_LANES - 1)].top)
				break;
		/* all are in use: what one had open is given up */
		if (!i)
			i = 1 + sp / STACK_BELOW % (CALLS_LANES - 1);
	}
	lane = lane_at(t, i);
	t->lane = i;
	if (lane->top)
		calls_pop_up_to(t, ~0ull, bpf_ktime_get_ns(), CALLS_INFERRED);
	lane->low = search.lane.low;
	lane->high = search.lane.high;
	lane->kind = search.lane.kind;
	calls_enter_lane(t, i);
	return 0;
}

static __always_inline void on_lane(struct calls_thread *t, __u64 sp)
{
	struct calls_lane *lane = lane_now(t);

	if (!is_inside(lane, sp) || lane->kind == LANE_UNKNOWN)
		calls_change_lane(t, sp);
}

#endif
