/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef ARCH_X86_64_REGISTERS_H
#define ARCH_X86_64_REGISTERS_H

#include <linux/types.h>

/* DWARF numbers (System V ABI, AMD64 supplement, figure 3.36) */
enum {
	ARCH_REG_SAVED = 3,	/* rbx: callee-saved; the walk follows it beside the next two */
	ARCH_REG_ARG2 = 4,	/* rsi */
	ARCH_REG_ARG1 = 5,	/* rdi */
	ARCH_REG_RESULT_AT = 5, /* rdi: at a function's beginning, where a result in memory goes */
	ARCH_REG_FP = 6,
	ARCH_REG_SP = 7,
	ARCH_REG_RETURN = 16, /* not a register: the column of the return address */
	ARCH_REGISTERS = 16
};

/* Those that a function leaves as they were: these three, r12 to r15. */
#define ARCH_CALLEE_SAVED (1u << ARCH_REG_SAVED | 1u << ARCH_REG_FP | 1u << ARCH_REG_SP | 0xf000u)

/*
 * The kernel's signal frame: the stack pointer is at a struct ucontext, whose general registers lie
 * 40 bytes in, in the order of struct sigcontext (asm/sigcontext.h).
 */
#define ARCH_SIGNAL_REGISTERS_AT 40

struct arch_signal_registers {
	__u64 r8, r9, r10, r11, r12, r13, r14, r15;
	__u64 di, si, bp, bx, dx, ax, cx, sp, pc;
};

/* All but the frame and the stack pointer, to the places of their DWARF numbers. */
static inline __attribute__((always_inline)) void
arch_signal_registers_read(const struct arch_signal_registers *from, __u64 *registers)
{
	registers[8] = from->r8;
	registers[9] = from->r9;
	registers[10] = from->r10;
	registers[11] = from->r11;
	registers[12] = from->r12;
	registers[13] = from->r13;
	registers[14] = from->r14;
	registers[15] = from->r15;
	registers[5] = from->di;
	registers[4] = from->si;
	registers[3] = from->bx;
	registers[1] = from->dx;
	registers[0] = from->ax;
	registers[2] = from->cx;
}

#define ARCH_SIGNAL_FP(from) ((from)->bp)
#define ARCH_SIGNAL_SP(from) ((from)->sp)
#define ARCH_SIGNAL_PC(from) ((from)->pc)

#endif
