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

/* Pieces of a message that are held at once; a power of two. And the most of one call. */
#define REQUESTS_VECTORS     32
#define REQUESTS_VECTORS_MAX 1024

struct requests_call {
	__u64 busy;
	__u32 count; /* of vectors; 0: not a call whose memory can be found */
	__u32 copied;
	__u32 of_file; /* it moves data from a file, which no head is in */
	__u32 window;  /* the number of the first one that is held */
	__u64 all;     /* where the program has them; 0: just one */
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

/* Holds those of a call from one on. False: they cannot be read. */
static __always_inline bool hold_vectors(struct requests_call *call, __u32 from)
{
	__u64 count = call->count - from;
	__u32 size;

	if (count > REQUESTS_VECTORS)
		count = REQUESTS_VECTORS;
	size = (__u32)count * sizeof(struct user_vector);
	call->window = from;
	return size && size <= sizeof(call->vectors) &&
	       !bpf_probe_read_user(call->vectors, size,
				    (void *)(call->all + from * sizeof(struct user_vector)));
}

static __always_inline void find_vectors(struct requests_call *call, const void *at, __u64 count)
{
	call->all = (__u64)at;
	call->count = count > REQUESTS_VECTORS_MAX ? REQUESTS_VECTORS_MAX : count;
	if (!count || !hold_vectors(call, 0))
		call->count = 0;
}

/* One of them; null: there is none, or it cannot be read. */
static __always_inline const struct user_vector *vector_at(struct requests_call *call, __u32 i)
{
	if (i >= call->count)
		return NULL;
	if (call->window != (i & ~(REQUESTS_VECTORS - 1)) &&
	    !hold_vectors(call, i & ~(REQUESTS_VECTORS - 1)))
		return NULL;
	return &call->vectors[i & (REQUESTS_VECTORS - 1)];
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
	call->window = 0;
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

/* Goes through the pieces of a call. */
struct requests_copying {
	struct requests_call *call;
	__u32 from, want, done; /* bytes: to pass over, to copy in all, copied */
};

static long requests_call_copy_step(__u32 i, void *context)
{
	struct requests_copying *copying = context;
	struct requests_call *call = copying->call;
	const struct user_vector *vector = vector_at(call, i);
	__u32 done = copying->done;
	__u64 size, base;

	if (!vector || done >= copying->want || done >= REQUESTS_COPY_MAX)
		return 1;
	size = vector->size;
	base = vector->base;
	if (copying->from >= size) {
		copying->from -= (__u32)size;
		return 0;
	}
	base += copying->from;
	size -= copying->from;
	copying->from = 0;
	if (size > copying->want - done)
		size = copying->want - done;
	if (size > REQUESTS_COPY_MAX)
		return 1;
	if (bpf_probe_read_user(&call->data[done], size, (void *)base))
		return 1;
	copying->done = done + size;
	return 0;
}

static long requests_call_copy_rest(__u32 i, void *context)
{
	return requests_call_copy_step(i + 1, context);
}

/* Copies its bytes, from one on, at most REQUESTS_COPY_MAX: call->copied of them. */
static __noinline int requests_call_copy(struct requests_call *call, __u32 from, __u32 want)
{
	struct requests_copying copying = {call, from, want, 0};

	if (want > REQUESTS_COPY_MAX)
		copying.want = REQUESTS_COPY_MAX;
	/* most calls have one piece */
	if (!requests_call_copy_step(0, &copying) && call->count > 1)
		bpf_loop(REQUESTS_VECTORS_MAX, requests_call_copy_rest, &copying, 0);
	call->copied = copying.done;
	return 0;
}

struct requests_tail {
	struct requests_call *call;
	__u64 from;
	__u32 found;
};

static long requests_call_tail_step(__u32 i, void *context)
{
	struct requests_tail *tail = context;
	struct requests_call *call = tail->call;
	const struct user_vector *vector = vector_at(call, i);

	if (!vector)
		return 1;
	if (tail->from >= vector->size) {
		tail->from -= vector->size;
		return 0;
	}
	tail->found = tail->from + REQUESTS_TAIL <= vector->size &&
		      !bpf_probe_read_user(call->record.tail, REQUESTS_TAIL,
					   (void *)(vector->base + tail->from));
	return 1;
}

/* Copies the last bytes of a call that moved that many. False: they could not be found. */
static __noinline int requests_call_tail(struct requests_call *call, __u32 length)
{
	struct requests_tail tail = {call, length - REQUESTS_TAIL, 0};

	if (call->count == 1)
		requests_call_tail_step(0, &tail);
	else
		bpf_loop(REQUESTS_VECTORS_MAX, requests_call_tail_step, &tail, 0);
	return tail.found;
}

#endif
