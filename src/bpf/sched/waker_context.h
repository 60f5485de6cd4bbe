/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_WAKER_CONTEXT_H
#define BPF_SCHED_WAKER_CONTEXT_H

/* Where the current code runs: in a thread, or in an interrupt. */

#include "bpf/kernel.h"
#include "bpf/sched/off_cpu_abi.h"

/*
 * Where the count that tells of interrupts lies: this many bytes from the run queue of a CPU.
 * waker_count_known is set with it, before loading.
 */
const volatile __s64 waker_count_at __weak;
const volatile bool waker_count_known __weak;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq___waker {
	unsigned int nr_running;
};

struct cfs_rq___waker {
	struct rq___waker *rq;
};

struct sched_entity___waker {
	struct cfs_rq___waker *cfs_rq;
};

struct task_struct___waker {
	struct sched_entity___waker se;
};

#pragma clang attribute pop

#define HARD_INTERRUPT 0x000f0000
#define SOFT_INTERRUPT 0x00000100 /* one is served; more than this bit: they are only held off */

static __always_inline enum off_cpu_context waker_context(void)
{
	struct task_struct___waker *task = (void *)bpf_get_current_task_btf();
	__u64 rq;
	__u32 count;

	if (!bpf_get_current_pid_tgid())
		return OFF_CPU_BY_INTERRUPT;
	if (!waker_count_known)
		return OFF_CPU_BY_UNKNOWN;
	rq = (__u64)task->se.cfs_rq->rq;
	/* of a count that could not be read, 0 would say that a thread runs */
	if (!rq)
		return OFF_CPU_BY_UNKNOWN;
	count = KERNEL_READ_AT(__u32, rq + waker_count_at);
	if (count & HARD_INTERRUPT)
		return OFF_CPU_BY_INTERRUPT;
	return count & SOFT_INTERRUPT ? OFF_CPU_BY_SOFTIRQ : OFF_CPU_BY_THREAD;
}

#endif
