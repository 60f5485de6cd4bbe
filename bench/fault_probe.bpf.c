// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The least that a probe at the tracepoint of page faults can cost: it counts them, and does nothing
 * more. For bench/memory-growth.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} faults SEC(".maps");

SEC("raw_tp/page_fault_user")
int count_fault(void *context)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&faults, &zero);

	if (count)
		++*count;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
