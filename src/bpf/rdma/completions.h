/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RDMA_COMPLETIONS_H
#define BPF_RDMA_COMPLETIONS_H

/* How completions are recorded, by either of two ways, never by both. */
#include "bpf/capture/capture.h"
#include "bpf/rdma/abi.h"

/* A call of poll_cq() whose completions are recorded when it returns. */
struct rdma_watched {
	__u64 at; /* of the first one */
	__u64 sp; /* where its return address is */
};

/* By thread. A completion that is written within such a call is not recorded then. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct rdma_watched);
} rdma_polling SEC(".maps") __weak;

/* The completion at an address. Returns whether it could be read. */
static __noinline int rdma_send_done(__u64 at, __u32 undecided)
{
	struct rdma_done record = {
		.head = {RDMA_DONE, sizeof(record), bpf_ktime_get_ns()},
		.pid = bpf_get_current_pid_tgid() >> 32,
		.undecided = undecided,
	};

	if (bpf_probe_read_user(&record.completion, sizeof(record.completion), (const void *)at)) {
		capture_count_loss(CAPTURE_SOURCE_RDMA, CAPTURE_LOSS_RDMA_UNREAD);
		return 0;
	}
	capture_send_record(CAPTURE_SOURCE_RDMA, &record, sizeof(record), BPF_RB_NO_WAKEUP);
	return 1;
}

#endif
