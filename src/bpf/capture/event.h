/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_EVENT_H
#define BPF_CAPTURE_EVENT_H

/* The stack of the thread that a perf event interrupts. */

#include "bpf/capture/capture.h"

/* Inside execve() the stack that the registers speak of may be gone with the old program. */
static __always_inline bool is_in_exec(const struct probe_regs *entry)
{
	return REGS_CALL(entry) == SYSCALL_EXECVE || REGS_CALL(entry) == SYSCALL_EXECVEAT;
}

/* No system call, but an exception or an interrupt has led from user mode into the kernel. */
static __always_inline bool is_in_exception(const struct probe_regs *entry)
{
	return REGS_CALL(entry) == ~0ul;
}

static __always_inline void event_user_stack(struct bpf_perf_event_data *ctx,
					     struct capture_scratch *scratch,
					     struct task_struct *task)
{
	/* what a kernel thread, or one that is exiting, has in its registers is not user code */
	if (!want_user || task->flags & PF_KTHREAD || !task->mm)
		return;
	if (!capture_registers(scratch, task))
		return;
	if (!regs_in_user_mode(&ctx->regs) && is_in_exec(&scratch->entry))
		return;
	if (!regs_in_user_mode(&ctx->regs) && is_in_exception(&scratch->entry))
		uprobes_undo_breakpoint(&scratch->walk, task);
	capture_wants_walk(scratch);
}

/* How many of the kernel's frames are wanted, at most. */
static __always_inline __u32 event_kernel_frames(struct bpf_perf_event_data *ctx)
{
	return want_kernel && !regs_in_user_mode(&ctx->regs) ? CAPTURE_KERNEL_FRAMES_MAX : 0;
}

#endif
