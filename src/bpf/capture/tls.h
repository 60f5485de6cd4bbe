/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_TLS_H
#define BPF_CAPTURE_TLS_H

/* Variables in thread-local storage that programs export for others (process/tls_variable.h). */

#include "bpf/capture/maps.h"
#include "bpf/capture/tls_abi.h"

/* Where glibc (tcbhead_t) and musl (struct pthread) have the thread's table of modules. */
#define TLS_TABLE_AT 8

/* Where the current thread has the variable; 0: nowhere yet. */
static __always_inline __u64 tls_variable_at(const struct tls_place *place)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 base = TASK_THREAD_POINTER(task), table, block;

	if (!place->module)
		return base + place->offset;
	if (bpf_probe_read_user(&table, sizeof(table), (void *)(base + TLS_TABLE_AT)) ||
	    bpf_probe_read_user(&block, sizeof(block),
				(void *)(table + (__u64)place->entry * place->module)))
		return 0;
	/* -1: the thread has not used it */
	return block + 1 > 1 ? block + place->offset : 0;
}

#endif
