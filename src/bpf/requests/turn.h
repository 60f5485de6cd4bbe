/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_TURN_H
#define BPF_REQUESTS_TURN_H

/*
 * What a thread has done up to a call, as far as it shows that nothing else came to it between two
 * calls: an event loop that has received something, and sends something before it receives, reads
 * or waits again, most likely does it for that. How often it has received is counted here, of any
 * socket; what it has read by read(), of an eventfd too, and how often it has waited, the kernel
 * counts.
 */
#include "bpf/capture/maps.h"
#include "bpf/requests/abi.h"
#include "bpf/user_vectors.h"

struct requests_received {
	__u64 socket; /* the address of the last one; only compared */
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct requests_received);
} requests_receives SEC(".maps");

/* How often the current thread has received from a socket. */
static __always_inline __u32 requests_turn_receives(void)
{
	const struct requests_received *received =
		bpf_task_storage_get(&requests_receives, bpf_get_current_task_btf(), NULL, 0);

	return received ? received->count : 0;
}

/*
 * The same, when it has just received once more; length: bytes. The end of what it received before
 * (nginx reads up to it before it sends an answer on) belongs to that: nothing else came to it.
 */
static __always_inline __u32 requests_turn_receive(__u64 socket, int length)
{
	struct requests_received *received =
		bpf_task_storage_get(&requests_receives, bpf_get_current_task_btf(), NULL,
				     BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!received)
		return 0;
	if (length || received->socket != socket)
		received->count++;
	received->socket = socket;
	return received->count;
}

/*
 * Where the current thread stands, but for turn->receives. received: bytes that its system call of
 * that number has received just now, which the kernel counts only when a read() returns.
 */
static __always_inline void requests_turn_read(struct requests_turn *turn, __u32 received,
					       __u64 number)
{
	struct task_struct *task = bpf_get_current_task_btf();

	turn->waits = (__u32)task->nvcsw;
	turn->read = 0;
	if (bpf_core_field_exists(task->ioac.rchar))
		turn->read = (__u32)task->ioac.rchar;
	if (received && (number == SYSCALL_READ || number == SYSCALL_READV))
		turn->read += received;
}

/*
 * What an entry of io_uring has moved: several are completed before the thread sees any of them,
 * so their order shows nothing. No other turn is the same.
 */
static __always_inline void requests_turn_is_its_own(struct requests_turn *turn, __u64 time)
{
	turn->receives = (__u32)time;
	turn->read = time >> 32;
	turn->waits = ~0u;
}

#endif
