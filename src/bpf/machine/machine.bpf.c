// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * machine: requests to disks, and the threads that made them. How much the disks do in all is read
 * from /proc; that does not say for whom. A request is answered in the interrupt of any thread, so
 * the one that made it is kept from its beginning.
 */
#include "bpf/capture/maps.h"
#include "bpf/kernel.h"
#include "bpf/machine/abi.h"

/* Requests that disks have at the same time: more of them have no thread. */
#define REQUESTS_MAX 16384

/* linux/blk_types.h */
#define REQ_OP_MASK  0xff
#define REQ_OP_READ  0
#define REQ_OP_WRITE 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk___machine {
	char disk_name[MACHINE_DISK_NAME];
};

struct request_queue___machine {
	struct gendisk___machine *disk;
};

struct request {
	struct request_queue___machine *q;
	unsigned int cmd_flags;
};

#pragma clang attribute pop

struct machine_maker {
	__u64 time;
	struct capture_identity identity;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_MAX);
	__type(key, __u64); /* the request */
	__type(value, struct machine_maker);
} machine_makers SEC(".maps");

static __always_inline bool is_of_data(__u32 operation)
{
	return operation == REQ_OP_READ || operation == REQ_OP_WRITE;
}

static __always_inline int begin(struct request *request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct machine_maker maker = {.time = bpf_ktime_get_ns()};
	__u64 key = (__u64)request;

	if (!is_of_data(request->cmd_flags & REQ_OP_MASK))
		return 0;
	maker.identity.pid = task->tgid;
	maker.identity.tid = task->pid;
	maker.identity.thread_start = task->start_time;
	maker.identity.exec_id = (__u32)task->self_exec_id;
	bpf_get_current_comm(maker.identity.comm, sizeof(maker.identity.comm));
	if (bpf_map_update_elem(&machine_makers, &key, &maker, BPF_ANY))
		capture_count_loss(CAPTURE_SOURCE_MACHINE, CAPTURE_LOSS_DISK_REQUESTS);
	return 0;
}

/* In the thread that makes it, before it waits in any queue; Linux 6.5. */
SEC("tp_btf/block_io_start")
int BPF_PROG(machine_start, struct request *request)
{
	return begin(request);
}

/* Before Linux 6.5: as the disk gets it, in the thread that made it, or one of the kernel's. */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(machine_issue, struct request *request)
{
	return begin(request);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(machine_done, struct request *request, unsigned int error, unsigned int bytes)
{
	struct machine_request record;
	__u32 operation = request->cmd_flags & REQ_OP_MASK;
	__u64 key = (__u64)request;
	struct gendisk___machine *disk;
	struct machine_maker *maker;
	void *ring = capture_ring();

	if (!is_of_data(operation) || !ring)
		return 0;
	__builtin_memset(&record, 0, sizeof(record));
	record.head.kind = MACHINE_REQUEST;
	record.head.size = sizeof(record);
	record.head.time = bpf_ktime_get_ns();
	record.bytes = bytes;
	record.is_write = operation == REQ_OP_WRITE;
	maker = bpf_map_lookup_elem(&machine_makers, &key);
	record.is_lost = !maker;
	if (maker) {
		record.identity = maker->identity;
		record.took = record.head.time - maker->time;
		bpf_map_delete_elem(&machine_makers, &key);
	}
	disk = BPF_CORE_READ(request, q, disk);
	bpf_probe_read_kernel_str(record.disk, sizeof(record.disk), &disk->disk_name);
	if (capture_output(ring, CAPTURE_SOURCE_MACHINE, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_MACHINE, CAPTURE_LOSS_RING_FULL);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
