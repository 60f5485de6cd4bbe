// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The least that a recorder of requests can cost: probes that do nothing. For bench/requests. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("tp_btf/sock_recv_length")
int empty_received(void *context)
{
	return 0;
}

SEC("tp_btf/sock_send_length")
int empty_sent(void *context)
{
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int empty_state(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
