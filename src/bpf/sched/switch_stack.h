/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_SWITCH_STACK_H
#define BPF_SCHED_SWITCH_STACK_H

/*
 * The stack of a thread that has just come back to a CPU: it is the one with which it had waited.
 */

#include "bpf/sched/off_cpu_evidence.h"

/*
 * This far may stacks be ahead of their rate. From half of that on, only waits of a period or more
 * have one: those that last are rarer, and of more interest.
 */
#define BURST_NS 500000000ull

/* Reads where it begins. The registers are also evidence, whether the stack is wanted or not. */
static __always_inline void switch_stack(struct capture_scratch *scratch, struct task_struct *task)
{
	evidence_begin(scratch);
	if (!(task->flags & PF_KTHREAD) && task->mm && capture_registers(scratch, task) &&
	    want_user)
		capture_wants_walk(scratch);
}

#endif
