/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_REMOTE_REGISTERS_H
#define ARCH_REMOTE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The registers of a thread that ptrace(2) has stopped, and what it executes by them. */
struct arch_user_regs {
	struct user_regs_struct at;
};

/* The set of the registers of floating point (PTRACE_GETREGSET), and how many bytes it can have. */
#if defined(__x86_64__)
#define ARCH_EXTENDED_SET NT_X86_XSTATE
#define ARCH_EXTENDED_MIN 576u
#define ARCH_EXTENDED_MAX (16u << 10)
/* Below the stack pointer: what belongs to the function that runs. */
#define ARCH_RED_ZONE 128
#endif

/* 0 or a negative errno. */
int arch_regs_read(pid_t pid, struct arch_user_regs *regs);
int arch_regs_write(pid_t pid, const struct arch_user_regs *regs);

bool arch_regs_are_of_64_bits(const struct arch_user_regs *regs);
uint64_t arch_regs_sp(const struct arch_user_regs *regs);

/* The number of the system call that it is in, or has just left; less than 0: it is in none. */
int64_t arch_regs_call(const struct arch_user_regs *regs);
/* What that has returned, with the kernel's own numbers for "it is to be made again". */
int64_t arch_regs_result(const struct arch_user_regs *regs);
void arch_regs_set_result(struct arch_user_regs *regs, int64_t result);

/* It makes that call again, once it goes on. */
void arch_regs_repeat(struct arch_user_regs *regs);
/* The kernel does not make it again. */
void arch_regs_forget_call(struct arch_user_regs *regs);

/* It goes on with this stack pointer, as where a function begins, and without single steps. */
void arch_regs_begin(struct arch_user_regs *regs, uint64_t sp);
/* At an instruction that makes system calls: with this call. */
void arch_regs_set_call(struct arch_user_regs *regs, uint64_t at, long number,
			const uint64_t arguments[6]);
void arch_regs_set_function(struct arch_user_regs *regs, uint64_t function, uint64_t first,
			    uint64_t second);

/* Where code makes a system call and returns then; null: nowhere. */
const uint8_t *arch_find_call(const uint8_t *code, size_t size);
/* Where it calls rt_sigreturn(2). */
const uint8_t *arch_find_sigreturn(const uint8_t *code, size_t size);

/* Whether a process has a stack of return addresses besides, by its status in /proc. */
bool arch_has_shadow_stack(const char *status);

#endif
