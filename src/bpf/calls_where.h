/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_WHERE_H
#define BPF_CALLS_WHERE_H

/* --stack: from where a function was called, as a stack like those of all other probes. */

#include "calls_abi.h"
#include "capture.h"

/* Set before loading. */
const volatile bool calls_have_stack; /* one of the functions has CALLS_FUNCTION_STACK */

__noinline int calls_take_stack(__u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;

	if (!(flags & CALLS_FUNCTION_STACK) || !task->mm)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_CALLS);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, CAPTURE_CALL_STACK, task, 1);
	if (capture_registers(scratch, task)) {
		scratch->record.has_user = 1;
		capture_user(scratch, task);
	}
	capture_send(scratch);
	capture_end(scratch);
	return 0;
}

#endif
