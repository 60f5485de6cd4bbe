/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_UPROBES_H
#define BPF_CAPTURE_UPROBES_H

/*
 * Code addresses that the kernel's uprobes have put in place of the program's own, for any program
 * that has set the probes.
 *
 * A return probe replaces the return address of a call by that of a trampoline: the beginning of a
 * page that the kernel adds to the process. What stood there before is in the thread's list of
 * return instances, with the place on the stack that it was taken from; a function that jumped to a
 * second one with a return probe has two of one place, and both name the caller
 * (kernel/events/uprobes.c, prepare_uretprobe()). An instruction under a probe that the kernel does
 * not emulate runs in the same page, as a copy.
 */

#include "bpf/capture/maps.h"

#define UPROBES_INSTRUCTION_MAX 15

/* uprobes.c: MAX_URETPROBE_DEPTH; and one, to see that there are no more */
#define UPROBES_INSTANCES_MAX 65

/* The page of the current process, or UNWIND_NO_UPROBES. */
static __always_inline __u64 uprobes_page(struct task_struct *task)
{
	__u64 page = 0;

	if (bpf_core_field_exists(struct task_struct, utask))
		page = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	return page ?: UNWIND_NO_UPROBES;
}

/*
 * A search for the instance whose place on the stack is `lowest` or at most `range` bytes above it.
 */
struct uprobes_search {
	struct return_instance *at;
	__u64 lowest;
	__u64 stack, original;
	__u32 range;
	bool found;
};

static long uprobes_search_step(__u32 i, void *context)
{
	struct uprobes_search *search = context;
	struct return_instance *at = search->at;

	if (!at)
		return 1;
	search->stack = BPF_CORE_READ(at, stack);
	if (search->stack - search->lowest <= search->range) {
		search->original = BPF_CORE_READ(at, orig_ret_vaddr);
		search->found = true;
		return 1;
	}
	search->at = BPF_CORE_READ(at, next);
	return 0;
}

/*
 * The instances are in the order of the calls, the innermost first: a walk looks on where it has
 * found the last one, and from the first one only if that was not it (a signal handler has its own
 * stack, perhaps).
 */
static __always_inline bool uprobes_find(struct capture_scratch *s, struct uprobe_task *utask,
					 struct uprobes_search *search)
{
	search->at = (struct return_instance *)s->instance;
	search->found = false;
	bpf_loop(UPROBES_INSTANCES_MAX, uprobes_search_step, search, 0);
	if (!search->found) {
		search->at = BPF_CORE_READ(utask, return_instances);
		bpf_loop(UPROBES_INSTANCES_MAX, uprobes_search_step, search, 0);
	}
	s->instance = (__u64)search->at;
	return search->found;
}

/*
 * The thread is in the trampoline: the function has returned, and its caller is not reached yet. Up
 * to the system call (or breakpoint) the instance is there, and up to three registers were pushed.
 * In the system call the registers say for a while that they have been popped again, though not
 * where; then the instance goes, and the kernel puts the address back on the stack
 * (arch/x86/kernel/uprobes.c, sys_uretprobe()). A call further out may have its place right above:
 * the innermost in range is meant.
 */
static __always_inline bool uprobes_leave_trampoline(struct capture_scratch *s,
						     struct uprobe_task *utask,
						     struct uprobes_search *search)
{
	struct unwind_walk *w = &s->walk;
	__u32 code = 0;
	int left;

	search->lowest = w->sp - 8;
	search->range = 24;
	bpf_probe_read_user(&code, sizeof(code), (const void *)w->pc);
	left = trampoline_left(code);
	if ((left < 0 || left > 8) && uprobes_find(s, utask, search)) {
		w->pc = search->original;
		w->sp = search->stack + 8;
		return true;
	}
	if (left < 0)
		return false;
	if (bpf_probe_read_user(&search->original, sizeof(search->original),
				(const void *)(w->sp + left)))
		return false;
	w->pc = search->original;
	w->sp += left + 8;
	return true;
}

/*
 * w->pc is in the page: puts the program's own address there. Apart, and not static: the verifier
 * looks at it once. Returns 0: there is none.
 */
__weak __noinline int uprobes_put_back(struct capture_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobes_search search = {};
	struct uprobe_task *utask;
	struct unwind_walk *w;
	__u64 into;

	if (!s || !bpf_core_field_exists(struct task_struct, utask))
		return 0;
	w = &s->walk;
	utask = BPF_CORE_READ(task, utask);
	if (!w->pc_exact) {
		search.lowest = w->sp - 8;
		if (!uprobes_find(s, utask, &search))
			return 0;
		w->pc = search.original;
		return 1;
	}
	into = w->pc - BPF_CORE_READ(utask, xol_vaddr);
	if (into <= UPROBES_INSTRUCTION_MAX && BPF_CORE_READ(utask, active_uprobe)) {
		w->pc = BPF_CORE_READ(utask, vaddr) + into;
		return 1;
	}
	return uprobes_leave_trampoline(s, utask, &search);
}

/*
 * The kernel works on an exception of a thread that has met probes. If it was a breakpoint, its
 * registers say for a while that the instruction under it has been executed, which it has not
 * (handle_swbp() puts that right). Behind a "push" of one byte they say the same when it has been:
 * then the stack is aligned again, which it is not where functions begin. Of longer instructions,
 * no rule changes at their second byte.
 *
 * A function that begins right behind the "ret" of another one, which has a probe, has just been
 * called, if the call says so.
 *
 * A "call" that the kernel emulates is half done for a moment: the return address has been pushed,
 * and the registers say that the call has returned (branch_emulate_op()).
 */
static __always_inline void uprobes_undo_breakpoint(struct unwind_walk *w, struct task_struct *task)
{
	__u64 pushed = 0;
	__u8 before = 0;
	__s32 distance = 0;

	if (!bpf_core_field_exists(struct task_struct, utask) || !BPF_CORE_READ(task, utask))
		return;
	bpf_probe_read_user(&pushed, sizeof(pushed), (const void *)w->sp);
	if (pushed == w->pc) {
		bpf_probe_read_user(&before, sizeof(before), (const void *)(w->pc - CALL_BYTES));
		if (before == BREAKPOINT)
			w->sp += sizeof(pushed);
		return;
	}
	bpf_probe_read_user(&distance, sizeof(distance), (const void *)(pushed - sizeof(distance)));
	if (!(w->sp & 15) || pushed + distance == w->pc)
		return;
	bpf_probe_read_user(&before, sizeof(before), (const void *)(w->pc - 1));
	if (before == BREAKPOINT)
		w->pc--;
}

/* A copy of the stack, from address base on, gets the program's own return addresses. */
struct uprobes_repair {
	struct return_instance *at;
	struct capture_copy *copy;
	__u64 base, page;
};

static long uprobes_repair_step(__u32 i, void *context)
{
	struct uprobes_repair *repair = context;
	struct return_instance *at = repair->at;
	__u64 offset, *slot;

	if (!at)
		return 1;
	offset = BPF_CORE_READ(at, stack) - repair->base;
	if (offset <= CAPTURE_COPY_MAX - sizeof(*slot)) {
		slot = (__u64 *)&repair->copy->stack[offset & (CAPTURE_COPY_MAX - 1) & ~7ull];
		if (!(offset & 7) && *slot == repair->page)
			*slot = BPF_CORE_READ(at, orig_ret_vaddr);
	}
	repair->at = BPF_CORE_READ(at, next);
	return 0;
}

static __always_inline void uprobes_repair(struct capture_copy *copy, __u64 base, __u64 page)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobes_repair repair = {.copy = copy, .base = base, .page = page};

	if (!bpf_core_field_exists(struct task_struct, utask) || page == UNWIND_NO_UPROBES)
		return;
	repair.at = BPF_CORE_READ(task, utask, return_instances);
	bpf_loop(UPROBES_INSTANCES_MAX, uprobes_repair_step, &repair, 0);
}

#endif
