/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_RESTARTED_H
#define BPF_SCHED_RESTARTED_H

/*
 * System calls that go on. A signal without a handler (SIGSTOP and SIGCONT), or work that io_uring
 * has for the thread, interrupts a wait with a timeout, and the kernel has the thread call
 * restart_syscall(2) for the rest of its time (kernel/signal.c). The thread still has the registers
 * of the first call, except for its number. What the kernel keeps to go on with it
 * (linux/restart_block.h) is made of the arguments of that call: the call is the one of which both
 * say the same.
 */

#include "bpf/kernel.h"
#include "bpf/sched/lock_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct restart_block___restarted {
	union {
		struct {
			__u32 *uaddr;
			__u32 val;
			__u32 flags;
			__u32 bitset;
		} futex;
		struct {
			int clockid;
			int type;
			void *rmtp;
		} nanosleep;
		struct {
			void *ufds;
			int nfds;
		} poll;
	};
};

struct task_struct___restarted {
	struct restart_block___restarted restart_block;
};

#pragma clang attribute pop

static __always_inline bool restarted_is_futex(const struct restart_block___restarted *block,
					       const struct call_arguments *at)
{
	__u32 command = REGS_CALL_ARG2(at) & LOCK_FUTEX_COMMAND, bitset;

	if (command == LOCK_FUTEX_WAIT)
		bitset = ~0u;
	else if (command == LOCK_FUTEX_WAIT_BITSET)
		bitset = REGS_CALL_ARG6(at);
	else
		return false;
	return (__u64)BPF_CORE_READ(block, futex.uaddr) == REGS_CALL_ARG1(at) &&
	       BPF_CORE_READ(block, futex.val) == (__u32)REGS_CALL_ARG3(at) &&
	       BPF_CORE_READ(block, futex.bitset) == bitset;
}

/*
 * The number of the call that a thread goes on with, which is in restart_syscall(2) with these
 * registers, in the kernel's memory. SYSCALL_RESTART: not known. What may look like two calls is
 * the first of: futex, poll, clock_nanosleep, nanosleep. Not inline: it is rare, and programs that
 * walk stacks are large.
 */
static __noinline int restarted_number(__u64 address, __u64 registers)
{
	const struct task_struct___restarted *more = (void *)address;
	const struct restart_block___restarted *block = &more->restart_block;
	struct call_arguments arguments, *at = &arguments;
	struct probe_regs *entry = (void *)registers;

	if (bpf_probe_read_kernel(at, sizeof(*at), CALL_ARGUMENTS_OF(entry)))
		return SYSCALL_RESTART;
	if (restarted_is_futex(block, at))
		return SYSCALL_FUTEX;
	if ((__u64)BPF_CORE_READ(block, poll.ufds) == REGS_CALL_ARG1(at) &&
	    BPF_CORE_READ(block, poll.nfds) == (int)REGS_CALL_ARG2(at))
		return SYSCALL_POLL;
	if (BPF_CORE_READ(block, nanosleep.clockid) == (int)REGS_CALL_ARG1(at) &&
	    (__u64)BPF_CORE_READ(block, nanosleep.rmtp) == REGS_CALL_ARG4(at))
		return SYSCALL_CLOCK_NANOSLEEP;
	if ((__u64)BPF_CORE_READ(block, nanosleep.rmtp) == REGS_CALL_ARG2(at))
		return SYSCALL_NANOSLEEP;
	return SYSCALL_RESTART;
}

static __always_inline int restarted_of(struct task_struct *task, const void *registers)
{
	return restarted_number((__u64)task, (__u64)registers);
}

#endif
