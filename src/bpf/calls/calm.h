/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_CALM_H
#define BPF_CALLS_CALM_H

/*
 * May the kernel be asked for the return of a function that calls nothing?
 *
 * It replaces the return address on the stack. Code that unwinds the stack then, or goes on on
 * another one, meets a trampoline that it does not know, and the program ends. In a function that
 * calls nothing only a signal handler can do that: by an exception, by pthread_cancel(), by
 * swapcontext(). The function enters no system call, so that a process of one thread which has no
 * handler when it begins has none until it returns.
 */

#include "bpf/kernel.h"

/* asm/signal.h: _NSIG; SIG_DFL and SIG_IGN are 0 and 1 */
#define CALM_SIGNALS 64
#define CALM_IGNORED 1

__noinline int calls_is_calm(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sighand_struct *handlers = task->sighand;
	__u32 i;

	/* a debugger looks at the stack, too */
	if (task->ptrace || !handlers || handlers->count.refs.counter != 1)
		return 0;
#pragma unroll
	for (i = 0; i < CALM_SIGNALS; i++)
		if ((__u64)handlers->action[i].sa.sa_handler > CALM_IGNORED)
			return 0;
	return 1;
}

#endif
