/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_STEP_H
#define BPF_CALLS_STEP_H

/*
 * "ret" without a single step. The kernel executes an instruction under a probe out of line, with a trap behind
 * it, which takes several times as long as all else of the probe; only few instructions does it emulate, and
 * "ret" is none of them. Since 6.18 a program may set the registers of the thread that it probes, and the kernel
 * executes nothing where the instruction pointer is not the probe's any more (kernel/events/uprobes.c,
 * handle_swbp()). So a "ret" is done here.
 *
 * Whatever is in any doubt is left to the kernel: another instruction than "ret" under the probe, by the kernel's
 * own copy of it; other users of the same probe, who would find changed registers, or change them once more; a
 * stack that cannot be read, or that holds no address of user space; a shadow stack, which would not follow.
 */

#include "kernel.h"

/* Set before loading: this kernel lets programs set registers. */
const volatile bool calls_can_step;

/* Addresses of user space are lower (asm/page_64_types.h: TASK_SIZE_MAX, with 4 levels of page tables). */
#define STEP_ADDRESS_MAX 0x7ffffffff000ull

/* asm/prctl.h: in thread.features */
#define STEP_SHADOW_STACK 1ul

static __always_inline bool has_shadow_stack(struct task_struct *task)
{
	return bpf_core_field_exists(task->thread.features) &&
	       task->thread.features & STEP_SHADOW_STACK;
}

/* Is there one user of the probe only, this program? Newer kernels keep them in a list. */
static __always_inline bool is_only_user(struct uprobe_task *utask)
{
	void *uprobe = (void *)utask->auprobe - bpf_core_field_offset(struct uprobe, arch);
	void *head = uprobe + bpf_core_field_offset(struct uprobe, consumers);
	struct list_head users;

	return !bpf_probe_read_kernel(&users, sizeof(users), head) && users.next == users.prev &&
	       users.next != head;
}

/* Lets the function return, if the probe is on its "ret". */
static __always_inline void step_return(struct probe_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	__u64 returns_to;

	if (!calls_can_step || !utask || !utask->auprobe || utask->auprobe->insn[0] != 0xc3)
		return;
	if (has_shadow_stack(task) || !is_only_user(utask))
		return;
	if (bpf_probe_read_user(&returns_to, sizeof(returns_to), (const void *)ctx->sp) ||
	    returns_to >= STEP_ADDRESS_MAX)
		return;
	ctx->ip = returns_to;
	ctx->sp += sizeof(returns_to);
}

#endif
