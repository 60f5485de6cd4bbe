/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SESSION_H
#define BPF_SESSION_H

#include "bpf/kernel.h"

/*
 * Of a program that is attached as a session (6.13): does the function return, or begin? The kernel
 * has a function that tells, with other parameters since 7.0; it also keeps which probe was hit,
 * and a return is the hit of none.
 */
static __always_inline bool session_is_return(void)
{
	struct uprobe_task *utask = bpf_get_current_task_btf()->utask;

	return !utask || !utask->auprobe;
}

#endif
