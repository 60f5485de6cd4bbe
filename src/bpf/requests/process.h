/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_PROCESS_H
#define BPF_REQUESTS_PROCESS_H

/*
 * What user space has said of a process: kept with each socket, so that nothing is looked up for
 * each call of processes of which there is nothing to say.
 */
#include "bpf/requests/context.h"
#include "bpf/requests/go.h"
#include "bpf/requests/python.h"
#include "bpf/requests/uvloop.h"

enum {
	REQUESTS_HAS_CONTEXT = 1,
	REQUESTS_HAS_GO = 2,
	REQUESTS_HAS_PYTHON = 4,
};

/* User space changes it behind each change of what it says. */
__u32 requests_said;

#define REQUESTS_HAS_BITS 3

static __noinline __u32 requests_process_look(__u32 pid)
{
	__u32 key = pid, has = 0;

	if (bpf_map_lookup_elem(&requests_contexts, &key))
		has |= REQUESTS_HAS_CONTEXT;
	if (bpf_map_lookup_elem(&requests_go_processes, &key))
		has |= REQUESTS_HAS_GO;
	if (bpf_map_lookup_elem(&requests_python_processes, &key))
		has |= REQUESTS_HAS_PYTHON;
	return has;
}

/*
 * What there is of the current process. *known: what the last call found, of whichever process, in
 * one word, as several may write it at once.
 */
static __always_inline __u32 requests_process_has(__u64 *known, __u32 pid)
{
	/* read first: what changes behind that is looked at next time */
	__u64 now = (__u64) * (volatile __u32 *)&requests_said << 32 | (__u64)pid
									       << REQUESTS_HAS_BITS;
	__u64 last = *(volatile __u64 *)known;
	__u32 has = last & ((1 << REQUESTS_HAS_BITS) - 1);

	if (usually((last ^ has) == now))
		return has;
	has = requests_process_look(pid);
	*(volatile __u64 *)known = now | has;
	return has;
}

#endif
