/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OFF_CPU_EVIDENCE_H
#define BPF_SCHED_OFF_CPU_EVIDENCE_H

/* What shows what a thread waits for. */

#include "bpf/capture/capture.h"
#include "bpf/sched/descriptor.h"
#include "bpf/sched/off_cpu_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___evidence {
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
};

#pragma clang attribute pop

/* Before its registers are read, which may not come to pass. */
static __always_inline void evidence_begin(struct capture_scratch *scratch)
{
	REGS_CALL(&scratch->entry) = -1;
}

/* A thread of io_uring's: it waits as the thread does for which it works. */
static __always_inline void worker_evidence(struct off_cpu_wait *wait, struct task_struct *task)
{
	wait->call = -1;
	wait->is_kernel_thread = !uring_worked_on(task);
	if (wait->is_kernel_thread)
		return;
	wait->call = SYSCALL_IO_URING_ENTER;
	wait->descriptor = OFF_CPU_FD_IO_URING;
}

/*
 * scratch->entry has the thread's registers; or, as evidence_begin() left it, that it has none, as
 * those of the kernel.
 */
static __always_inline void read_evidence(struct off_cpu_wait *wait,
					  struct capture_scratch *scratch, struct task_struct *task)
{
	struct task_struct___evidence *more = (void *)task;
	struct probe_regs *regs = &scratch->entry;

	wait->is_kernel_thread = (task->flags & PF_KTHREAD) != 0;
	wait->call = REGS_CALL(regs);
	if (task->flags & PF_IO_WORKER) {
		worker_evidence(wait, task);
	} else if (wait->call >= 0) {
		wait->arguments[0] = REGS_CALL_ARG1(regs);
		wait->arguments[1] = REGS_CALL_ARG2(regs);
		wait->arguments[2] = REGS_CALL_ARG3(regs);
		wait->arguments[3] = REGS_CALL_ARG4(regs);
		wait->arguments[4] = REGS_CALL_ARG5(regs);
		wait->arguments[5] = REGS_CALL_ARG6(regs);
		wait->descriptor = descriptor_kind(task, regs);
	}
	wait->in_iowait = BPF_CORE_READ_BITFIELD(more, in_iowait);
	wait->is_frozen = BPF_CORE_READ_BITFIELD(more, frozen);
}

#endif
