/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_WHERE_H
#define BPF_CALLS_WHERE_H

/* --stack: from where a function was called, as a stack like those of all other probes. */

#include "bpf/calls/abi.h"
#include "bpf/capture/capture.h"

/* Set before loading. */
const volatile bool calls_have_stack; /* one of the functions has CALLS_FUNCTION_STACK */

/*
 * Begins with it; null: it is not wanted, or there is no memory. By itself, as the calls
 * of a thread need most of the 512 bytes of stack that a program has before Linux 6.13.
 */
static __noinline struct capture_scratch *calls_begin_stack(__u32 flags, enum capture_walker walker,
							    __u32 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;

	if (!(flags & CALLS_FUNCTION_STACK) || !task->mm)
		return NULL;
	scratch = capture_begin(CAPTURE_SOURCE_CALLS, walker);
	if (!scratch)
		return NULL;
	capture_identity(&scratch->record, CAPTURE_CALL_STACK, task, 1);
	if (capture_registers(scratch, task))
		capture_wants_walk(scratch);
	capture_then_send(scratch, 0, 0, result);
	return scratch;
}

#endif
