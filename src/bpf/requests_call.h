/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_CALL_H
#define BPF_REQUESTS_CALL_H

/*
 * The memory of a program that its system call has filled, or sent: found by the arguments of the
 * call, which the kernel keeps at the top of the thread's stack. The call is still going on, so
 * that they are true, and the pages are there.
 */
#include "capture_maps.h"
#include "requests_abi.h"

/* asm/unistd_64.h */
#define SYSCALL_READ	 0
#define SYSCALL_WRITE	 1
#define SYSCALL_READV	 19
#define SYSCALL_WRITEV	 20
#define SYSCALL_SENDFILE 40
#define SYSCALL_SENDTO	 44
#define SYSCALL_RECVFROM 45
#define SYSCALL_SENDMSG	 46
#define SYSCALL_RECVMSG	 47
#define SYSCALL_SPLICE	 275
#define SYSCALL_PREADV2	 327
#define SYSCALL_PWRITEV2 328

/* asm/thread_info.h: the system call is one of 32-bit programs */
#define STATUS_COMPAT 2

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Loaded one by one, as a copy of all registers is a call of its own. */
struct pt_regs___requests {
	unsigned long dx, si, orig_ax;
};

struct thread_info___requests {
	__u32 status;
};

struct task_struct___requests {
	struct thread_info___requests thread_info;
};

#pragma clang attribute pop

/* sys/uio.h and sys/socket.h, as programs have them */
struct user_vector {
	__u64 base, size;
};

struct user_message {
	__u64 name, name_size;
	struct user_vector *vectors;
	__u64 count;
};

/* The most pieces of a message that are looked at. */
#define REQUESTS_VECTORS 8

struct requests_call {
	__u64 busy;
	__u32 count; /* of vectors; 0: it is no call whose memory can be found */
	__u32 copied;
	__u32 of_file; /* it moves data from a file, which no head is in */
	__u32 unused;
	struct user_vector vectors[REQUESTS_VECTORS];
	struct requests_record record;
	__u8 data[2 *
		  REQUESTS_COPY_MAX]; /* right behind the record; the rest is for the verifier */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct requests_call);
} requests_calls SEC(".maps");

static __always_inline struct requests_call *requests_call_begin(__u32 direction)
{
	struct requests_call *call = bpf_map_lookup_elem(&requests_calls, &direction);

	if (call && !__sync_val_compare_and_swap(&call->busy, 0, 1))
		return call;
	capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_SCRATCH_BUSY);
	return NULL;
}

static __always_inline void requests_call_end(struct requests_call *call)
{
	__sync_lock_test_and_set(&call->busy, 0);
}

static __always_inline void find_vectors(struct requests_call *call, const void *at, __u64 count)
{
	__u32 size;

	if (count > REQUESTS_VECTORS)
		count = REQUESTS_VECTORS;
	size = (__u32)count * sizeof(struct user_vector);
	if (!size || size > sizeof(call->vectors) || bpf_probe_read_user(call->vectors, size, at))
		return;
	call->count = count;
}

/* Finds where the current system call has its memory. */
static __always_inline void requests_call_find(struct requests_call *call)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs___requests *regs = (void *)bpf_task_pt_regs(task);
	struct task_struct___requests *more = (void *)task;
	struct user_message message;

	call->count = 0;
	call->of_file = 0;
	if (more->thread_info.status & STATUS_COMPAT)
		return;
	switch (regs->orig_ax) {
	case SYSCALL_READ:
	case SYSCALL_WRITE:
	case SYSCALL_RECVFROM:
	case SYSCALL_SENDTO:
		call->vectors[0].base = regs->si;
		call->vectors[0].size = regs->dx;
		call->count = 1;
		break;
	case SYSCALL_READV:
	case SYSCALL_WRITEV:
	case SYSCALL_PREADV2:
	case SYSCALL_PWRITEV2:
		find_vectors(call, (void *)regs->si, regs->dx);
		break;
	case SYSCALL_SENDFILE:
	case SYSCALL_SPLICE:
		call->of_file = 1;
		break;
	case SYSCALL_RECVMSG:
	case SYSCALL_SENDMSG:
		if (!bpf_probe_read_user(&message, sizeof(message), (void *)regs->si))
			find_vectors(call, message.vectors, message.count);
		break;
	}
}

/* Copies the first bytes of it, at most REQUESTS_COPY_MAX: call->copied of them. */
static __noinline int requests_call_copy(struct requests_call *call, __u32 want)
{
	__u32 done = 0, i;

	if (want > REQUESTS_COPY_MAX)
		want = REQUESTS_COPY_MAX;
	for (i = 0; i < REQUESTS_VECTORS && i < call->count && done < want; i++) {
		__u64 size = call->vectors[i].size;

		if (size > want - done)
			size = want - done;
		if (done >= REQUESTS_COPY_MAX || size > REQUESTS_COPY_MAX)
			break;
		if (size &&
		    bpf_probe_read_user(&call->data[done], size, (void *)call->vectors[i].base))
			break;
		done += size;
	}
	call->copied = done;
	return 0;
}

/* Copies the last bytes of a call that moved so many. False: they could not be found. */
static __noinline int requests_call_tail(struct requests_call *call, __u32 length)
{
	__u64 from = length - REQUESTS_TAIL;
	__u32 i;

	for (i = 0; i < REQUESTS_VECTORS && i < call->count; i++) {
		const struct user_vector *vector = &call->vectors[i];

		if (from < vector->size)
			return from + REQUESTS_TAIL <= vector->size &&
			       !bpf_probe_read_user(call->record.tail, REQUESTS_TAIL,
						    (void *)(vector->base + from));
		from -= vector->size;
	}
	return 0;
}

#endif
