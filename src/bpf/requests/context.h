/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_CONTEXT_H
#define BPF_REQUESTS_CONTEXT_H

/*
 * The context that a program publishes of its threads: which trace, and which of its spans, a
 * thread works for. OpenTelemetry's (OTEP 4947, "Thread Context") and Elastic's are alike: a
 * pointer in thread-local storage leads to a record with the ids. It is read of the current thread,
 * which is in a system call, so that nothing changes it meanwhile. User space finds out where a
 * process has the pointer (sources/requests/context.c).
 */
#include "bpf/capture/maps.h"
#include "bpf/capture/tls.h"
#include "bpf/requests/abi.h"

#define REQUESTS_CONTEXTS 4096

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_CONTEXTS);
	__type(key, __u32); /* process */
	__type(value, struct requests_context);
} requests_contexts SEC(".maps");

/* Puts the ids into a record, if the thread has some. */
static __noinline int requests_context_read(struct requests_wire *wire)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, trace_at, span_at;
	const struct requests_context *where = bpf_map_lookup_elem(&requests_contexts, &pid);
	__u64 at, context;
	__u8 valid;

	if (!where)
		return 0;
	at = tls_variable_at(&where->at);
	if (!at || bpf_probe_read_user(&context, sizeof(context), (void *)at) || !context ||
	    bpf_probe_read_user(&valid, sizeof(valid), (void *)(context + where->valid_at)) ||
	    valid != 1)
		return 0;
	trace_at = where->trace_at;
	span_at = where->span_at;
	if (bpf_probe_read_user(wire->trace, sizeof(wire->trace), (void *)(context + trace_at)) ||
	    bpf_probe_read_user(wire->span, sizeof(wire->span), (void *)(context + span_at)))
		return 0;
	wire->works.more.flags |= REQUESTS_CONTEXT;
	return 0;
}

#endif
