/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SWITCH_STACK_H
#define BPF_SWITCH_STACK_H

/*
 * The stack of a thread that has just come back to a CPU: it is the one with which it had waited.
 */

#include "capture.h"

/*
 * This far may stacks be ahead of their rate. From half of that on, only waits of a period or more
 * have one: those that last are rarer, and of more interest.
 */
#define BURST_NS 500000000ull

/* This many words must have room behind its frames. */
static __always_inline void switch_stack(void *ctx, struct capture_scratch *scratch,
					 struct task_struct *task, bool with_kernel, __u32 behind)
{
	struct capture_record *record = &scratch->record;
	__u32 user_frames;
	long bytes;

	scratch->entry.orig_ax = -1;
	/* the registers are also evidence, whether the stack is wanted or not */
	if (!(task->flags & PF_KTHREAD) && task->mm && capture_registers(scratch, task) &&
	    want_user) {
		record->has_user = 1;
		capture_user(scratch, task);
	}
	user_frames = record->user_frames;
	if (!with_kernel || !want_kernel || user_frames > UNWIND_FRAMES_MAX)
		return;
	bytes = bpf_get_stack(ctx, &scratch->frames[user_frames],
			      (CAPTURE_KERNEL_FRAMES_MAX - behind) * sizeof(__u64), 0);
	if (bytes > 0)
		record->kernel_frames = bytes / sizeof(__u64);
}

#endif
