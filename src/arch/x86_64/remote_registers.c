// SPDX-License-Identifier: Apache-2.0
#include "arch/remote_registers.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

/* The instruction "syscall". */
#define CALL_BYTES 2

int arch_regs_read(pid_t pid, struct arch_user_regs *regs)
{
	return ptrace(PTRACE_GETREGS, pid, 0, &regs->at) < 0 ? -errno : 0;
}

int arch_regs_write(pid_t pid, const struct arch_user_regs *regs)
{
	return ptrace(PTRACE_SETREGS, pid, 0, &regs->at) < 0 ? -errno : 0;
}

bool arch_regs_are_of_64_bits(const struct arch_user_regs *regs)
{
	return regs->at.cs == 0x33;
}

uint64_t arch_regs_sp(const struct arch_user_regs *regs)
{
	return regs->at.rsp;
}

int64_t arch_regs_call(const struct arch_user_regs *regs)
{
	return (int64_t)regs->at.orig_rax;
}

int64_t arch_regs_result(const struct arch_user_regs *regs)
{
	return (int64_t)regs->at.rax;
}

void arch_regs_set_result(struct arch_user_regs *regs, int64_t result)
{
	regs->at.rax = (uint64_t)result;
}

void arch_regs_repeat(struct arch_user_regs *regs)
{
	regs->at.rax = regs->at.orig_rax;
	regs->at.rip -= CALL_BYTES;
}

void arch_regs_forget_call(struct arch_user_regs *regs)
{
	regs->at.orig_rax = ~0ull;
}

void arch_regs_begin(struct arch_user_regs *regs, uint64_t sp)
{
	arch_regs_forget_call(regs);
	regs->at.rsp = sp;
	/* the direction of strings is forward in the ABI; no single steps */
	regs->at.eflags &= ~0x500ull;
}

void arch_regs_set_call(struct arch_user_regs *regs, uint64_t at, long number,
			const uint64_t arguments[6])
{
	regs->at.rip = at;
	regs->at.rax = (uint64_t)number;
	regs->at.rdi = arguments[0];
	regs->at.rsi = arguments[1];
	regs->at.rdx = arguments[2];
	regs->at.r10 = arguments[3];
	regs->at.r8 = arguments[4];
	regs->at.r9 = arguments[5];
}

void arch_regs_set_function(struct arch_user_regs *regs, uint64_t function, uint64_t first,
			    uint64_t second)
{
	regs->at.rip = function;
	regs->at.rdi = first;
	regs->at.rsi = second;
}

const uint8_t *arch_find_call(const uint8_t *code, size_t size)
{
	/* syscall; ret */
	static const uint8_t calls[] = {0x0f, 0x05, 0xc3};

	return memmem(code, size, calls, sizeof(calls));
}

const uint8_t *arch_find_sigreturn(const uint8_t *code, size_t size)
{
	/* mov $15, %rax; syscall */
	static const uint8_t returns[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return memmem(code, size, returns, sizeof(returns));
}

bool arch_has_shadow_stack(const char *status)
{
	const char *features = strstr(status, "\nx86_Thread_features:");

	return features && strstr(features, "shstk");
}
