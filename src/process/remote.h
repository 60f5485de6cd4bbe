/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_REMOTE_H
#define PROCESS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/remote_registers.h"
#include "base/fail.h"

/*
 * The first thread of a running process, stopped by ptrace(2) for less than a millisecond, and made
 * to execute system calls and functions that it would not. It may be anywhere when it is stopped:
 * in a system call, in malloc(), in the dynamic linker; so what it executes must take no locks of
 * the process's.
 *
 * The caller may be killed at any moment. The kernel then lets the thread go on with the registers
 * that it has. So all that it executes returns, by a frame that lies on its stack below all that it
 * uses, into rt_sigreturn(2), which sets everything back as after a signal: registers, those of
 * floating point, blocked signals. What differs is that a sleep or a wait with a time limit ends
 * with EINTR, as after a signal, too. Where the caller lives, system calls go on as they were, and
 * those that cannot, such as epoll_wait(2), are made again.
 */
struct remote {
	pid_t pid;
	struct arch_user_regs was;
	uint64_t mask; /* signals that it has blocked */
	uint64_t
		/* places in the process's code: a system call with a return behind it, and */
		call_at,
		/* one of rt_sigreturn(2) */
		return_at;
	uint64_t frame_at; /* on its stack: where rsp points to when it begins, and below it */
	uint64_t data_at;  /* REMOTE_DATA bytes of the caller's */
	void *extended;	   /* registers of floating point, as of ARCH_EXTENDED_SET */
	size_t extended_size;
	int pending;	   /* SIGSTOP: it is to be stopped when this is over */
	bool is_returning; /* it is about to call rt_sigreturn(2) */
	uint64_t since;	   /* when it stopped, ns of CLOCK_MONOTONIC */
};

#define REMOTE_DATA 8192

/*
 * Whether it may be stopped at all, by its status alone. Returns 0, or with *why filled -EPERM: it
 * filters its system calls, or has a debugger; -ENOTSUP: it has a shadow stack; other negative
 * errnos: it cannot be read.
 */
int remote_check(pid_t pid, struct fail *why);

/*
 * Stops it. The calling thread must end soon after remote_end(): were that to fail, the kernel
 * would let the process go then. On an error the process goes on as it was.
 * Returns 0; or with *why filled -EAGAIN: it cannot be stopped where it is now, and may be later;
 * -ESRCH: it has ended; other negative errnos: it never can.
 */
int remote_begin(struct remote *remote, pid_t pid, struct fail *why);

/*
 * Has it execute a system call, whose result becomes *result (negative errnos as the kernel returns
 * them). Returns 0, or a negative errno when the process is gone.
 */
int remote_system_call(struct remote *remote, long number, const uint64_t arguments[6],
		       int64_t *result);

/*
 * Has it call a function of two arguments, which returns nothing. Errors as above; -EFAULT: it has
 * touched memory that is not there, and was left there; remote_end() is due, and nothing else.
 */
int remote_function(struct remote *remote, uint64_t function, uint64_t first, uint64_t second);

/* All bytes, or a negative errno. */
int remote_read(pid_t pid, void *to, size_t size, uint64_t address);
int remote_write(pid_t pid, const void *from, size_t size, uint64_t address);

/* Lets it go on as it was. Returns for how long it stood still, ns. */
uint64_t remote_end(struct remote *remote);

/*
 * Calls run(), which stops a process and lets it go again, on a thread of its own: ptrace(2) is of
 * a thread, whose end lets the process go in any case. Calls it again, for half a second, while it
 * returns -EAGAIN or -EFAULT. Returns what it has returned last, or -ENOMEM with *why filled.
 */
int remote_attempt(int (*run)(void *context), void *context, struct fail *why);

#endif
