/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef ARCH_X86_64_BPF_H
#define ARCH_X86_64_BPF_H

#include <bpf/bpf_helpers.h>
#include <linux/types.h>
#include <stdbool.h>

/*
 * The registers of user code: those that a perf_event program finds in its context, and those that
 * an entry into the kernel saved. This layout is the kernel's interface (linux/bpf_perf_event.h,
 * asm/ptrace.h) and is not relocated. With FRED, the upper bits of cs and ss hold something else.
 */
struct probe_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

/* The same of an entry, loaded one by one, as a copy of all registers is a call of its own. */
struct pt_regs___call {
	unsigned long r10, r9, r8, ax, dx, si, di, orig_ax;
} __attribute__((preserve_access_index));

/*
 * Neighbours in struct probe_regs, to be read at once where a program's stack has no room for all.
 */
struct call_registers {
	unsigned long dx, si, di, orig_ax;
};
#define CALL_REGISTERS_OF(regs) (&(regs)->dx)

struct call_arguments {
	__u64 r10, r9, r8, ax, cx, dx, si, di;
};
#define CALL_ARGUMENTS_OF(regs) (&(regs)->r10)

/* -- system calls: of any of these structs that has it ----------------------------------------- */

#define REGS_CALL(regs)	       ((regs)->orig_ax) /* its number; all bits: it is an exception */
#define REGS_CALL_RESULT(regs) ((regs)->ax)
#define REGS_CALL_ARG1(regs)   ((regs)->di)
#define REGS_CALL_ARG2(regs)   ((regs)->si)
#define REGS_CALL_ARG3(regs)   ((regs)->dx)
#define REGS_CALL_ARG4(regs)   ((regs)->r10)
#define REGS_CALL_ARG5(regs)   ((regs)->r8)
#define REGS_CALL_ARG6(regs)   ((regs)->r9)

/*
 * -- functions, where they begin or return (System V ABI, AMD64 supplement, 3.2.3) --------------
 */

#define REGS_ARG1(regs)	     ((regs)->di)
#define REGS_ARG2(regs)	     ((regs)->si)
#define REGS_ARG3(regs)	     ((regs)->dx)
#define REGS_ARG4(regs)	     ((regs)->cx)
#define REGS_ARG5(regs)	     ((regs)->r8)
#define REGS_ARG6(regs)	     ((regs)->r9)
#define REGS_RESULT(regs)    ((regs)->ax)
#define REGS_RESULT_AT(regs) ((regs)->di) /* at the beginning: where a result in memory goes */
#define REGS_FP(regs)	     ((regs)->bp)

/* An initializer: what a function leaves as it was, but for the stack pointer. */
#define REGS_CALLEE_SAVED(regs)                                                            \
	{                                                                                  \
		(regs)->bx, (regs)->bp, (regs)->r12, (regs)->r13, (regs)->r14, (regs)->r15 \
	}

/* Of Go since 1.17 (ABIInternal): arguments, the first of them also results; the goroutine. */
#define REGS_GO_ARG1(regs) ((regs)->ax)
#define REGS_GO_ARG2(regs) ((regs)->bx)
#define REGS_GO_ARG3(regs) ((regs)->cx)
#define REGS_GO_ARG4(regs) ((regs)->di)
#define REGS_GO_G(regs)	   ((regs)->r14)

/* Of the HotSpot JVM's code: the thread. */
#define REGS_JAVA_THREAD(regs) ((regs)->r15)

/* All but the frame and the stack pointer, to the places of their DWARF numbers. */
static __always_inline void regs_by_dwarf(const struct probe_regs *regs, __u64 *to)
{
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
}

/* The verifier wants each as a load of its own, and not by an address that is calculated. */
#define REGS_LOAD(member)                        \
	({                                       \
		__u64 value_ = (member);         \
		asm volatile("" : "+r"(value_)); \
		value_;                          \
	})

/*
 * A register by its number in instructions, of 0 to 15: arch_register_numbered() knows its names.
 */
static __always_inline __u64 regs_by_instruction(const struct probe_regs *regs, __u32 number)
{
	switch (number) {
	case 0:
		return REGS_LOAD(regs->ax);
	case 1:
		return REGS_LOAD(regs->cx);
	case 2:
		return REGS_LOAD(regs->dx);
	case 3:
		return REGS_LOAD(regs->bx);
	case 4:
		return REGS_LOAD(regs->sp);
	case 5:
		return REGS_LOAD(regs->bp);
	case 6:
		return REGS_LOAD(regs->si);
	case 7:
		return REGS_LOAD(regs->di);
	case 8:
		return REGS_LOAD(regs->r8);
	case 9:
		return REGS_LOAD(regs->r9);
	case 10:
		return REGS_LOAD(regs->r10);
	case 11:
		return REGS_LOAD(regs->r11);
	case 12:
		return REGS_LOAD(regs->r12);
	case 13:
		return REGS_LOAD(regs->r13);
	case 14:
		return REGS_LOAD(regs->r14);
	default:
		return REGS_LOAD(regs->r15);
	}
}

/* -- modes ------------------------------------------------------------------------------------- */

/* Bit 1..0 of the code segment: the privilege level. 3 is user mode. */
static __always_inline bool regs_in_user_mode(const struct probe_regs *regs)
{
	return ((__u16)regs->cs & 3) == 3;
}

/* The code segment of 64-bit user code; anything else in user mode is a 32-bit program. */
static __always_inline bool regs_are_of_64_bits(const struct probe_regs *regs)
{
	return (__u16)regs->cs == 0x33;
}

/* asm/thread_info.h: the system call is one of 32-bit programs */
#define STATUS_COMPAT 2

struct thread_info___compat {
	__u32 status;
} __attribute__((preserve_access_index));

struct task_struct___compat {
	struct thread_info___compat thread_info;
} __attribute__((preserve_access_index));

struct task_struct;

static __always_inline bool user_call_is_compat(struct task_struct *task)
{
	struct task_struct___compat *more = (void *)task;

	return more->thread_info.status & STATUS_COMPAT;
}

/* -- probes of user code ----------------------------------------------------------------------- */

#define BREAKPOINT 0xcc
#define CALL_BYTES 5 /* a near call, relative */

/*
 * The trampoline that return probes return to, as a thread goes through it (the kernel's
 * arch/x86/kernel/uprobes.c): the code at its place is what is left, of pop %r11; pop %rcx; ret.
 * Returns how many bytes this pops before the return address; -1: it is elsewhere.
 */
static __always_inline int trampoline_left(__u32 code)
{
	if (code == 0xc3595b41u)
		return 16;
	if ((code & 0xffff) == 0xc359u)
		return 8;
	return (code & 0xff) == 0xc3u ? 0 : -1;
}

/* -- threads ----------------------------------------------------------------------------------- */

struct thread_struct {
	unsigned long sp; /* of a thread at rest, in the kernel */
	unsigned long fsbase;
} __attribute__((preserve_access_index));

/*
 * The thread pointer of a task's user code. The thread's own data lies below it (TLS, variant II).
 */
#define TASK_THREAD_POINTER(task) ((task)->thread.fsbase)

/* Of a task at rest: where its kernel stack is. */
#define TASK_KERNEL_SP(task) ((task)->thread.sp)

#endif
