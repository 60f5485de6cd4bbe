/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_COST_H
#define ARCH_COST_H

/*
 * Assembler code that does nothing but to be probed: an instruction that the kernel emulates, with
 * what undoes it, and one that it steps (enum isa_cost); and how many bytes each has.
 * ARCH_CODE_RETURN stands behind them.
 */
#if defined(__x86_64__)
#define ARCH_CODE_EMULATED	 "	push %rbx\n	pop %rbx\n"
#define ARCH_CODE_EMULATED_BYTES 2
#define ARCH_CODE_STEPPED	 "	mov %rdi, %rax\n"
#define ARCH_CODE_STEPPED_BYTES	 3
#define ARCH_CODE_RETURN	 "	ret\n"
#endif

#endif
