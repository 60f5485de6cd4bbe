// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The least that a recorder of waits can cost: two probes that do nothing. For bench/off-cpu-cost. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_switch")
int empty_switch(void *context)
{
	return 0;
}

SEC("tp_btf/sched_waking")
int empty_waking(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
