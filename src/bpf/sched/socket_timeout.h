/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_SOCKET_TIMEOUT_H
#define BPF_SCHED_SOCKET_TIMEOUT_H

/*
 * How long a system call may wait for a socket, by its options SO_RCVTIMEO and SO_SNDTIMEO: the
 * kernel's timer ends such a wait as a packet does, in a soft interrupt.
 */
#include "bpf/sched/object.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___timeout {
	long sk_rcvtimeo, sk_sndtimeo;
};

#pragma clang attribute pop

/* By number of the system call: it waits until it can send, or is connected. Set before loading. */
const volatile bool descriptor_sends[DESCRIPTOR_CALLS] __weak;

/* In jiffies; what is longer is forever (MAX_SCHEDULE_TIMEOUT). */
#define SOCKET_TIMEOUT_MAX (1ll << 40)

/* When the time is over, in jiffies; 0: never, or it is not known. file: of the socket. */
static __always_inline __u64 socket_time_over(__u64 file, __u64 call)
{
	struct sock___timeout *sk = (void *)object_sock((void *)file);
	long time;

	if (!bpf_core_field_exists(sk->sk_rcvtimeo) || call >= DESCRIPTOR_CALLS)
		return 0;
	time = descriptor_sends[descriptor_call(call)] ? KERNEL_READ(sk, sk_sndtimeo)
						       : KERNEL_READ(sk, sk_rcvtimeo);
	return time > 0 && time < SOCKET_TIMEOUT_MAX ? bpf_jiffies64() + time : 0;
}

#endif
