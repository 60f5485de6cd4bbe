/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_CALL_H
#define BPF_REQUESTS_CALL_H

/*
 * The memory of a program that its system call has filled, or sent: found by the arguments of the
 * call, which the kernel keeps at the top of the thread's stack. The call is still going on, so
 * that they are true, and the pages are there.
 */
#include "bpf/capture/maps.h"
#include "bpf/requests/abi.h"
#include "bpf/user_vectors.h"

/* Bytes of a message's head that came by itself, in the call before. */
#define REQUESTS_HEAD 4

struct requests_call {
	__u64 busy;
	__u64 sent;   /* records */
	__u64 number; /* of the system call; 0, as read() has it: nothing is known of one */
	__u32 copied;
	__u32 before;	/* REQUESTS_HEAD if that is put in front; else 0 */
	__u32 has;	/* requests_process_has() */
	__u16 of_file;	/* it moves data from a file, which no head is in */
	__u16 by_uring; /* by an entry of io_uring */
	struct user_vectors vectors;
	struct requests_wire wire;
	__u8 data[2 *
		  REQUESTS_COPY_MAX]; /* right behind the record; the rest is for the verifier */
};

/* Of each tracepoint of sockets; and of all other probes, by direction. */
enum {
	REQUESTS_CALL_SOCKETS,
	REQUESTS_CALL_OTHERS = 2,
	REQUESTS_CALLS = 4,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REQUESTS_CALLS);
	__type(key, __u32);
	__type(value, struct requests_call);
} requests_calls SEC(".maps");

/*
 * That of the tracepoint of a direction. The kernel does not run its program while it runs it on
 * the same CPU already, and no other program uses it, so that it need not be claimed.
 */
static __always_inline struct requests_call *requests_call_of_socket(__u32 direction)
{
	__u32 slot = REQUESTS_CALL_SOCKETS + direction;

	return bpf_map_lookup_elem(&requests_calls, &slot);
}

static __always_inline struct requests_call *requests_call_begin(__u32 direction)
{
	__u32 slot = REQUESTS_CALL_OTHERS + direction;
	struct requests_call *call = bpf_map_lookup_elem(&requests_calls, &slot);

	if (call && !__sync_val_compare_and_swap(&call->busy, 0, 1))
		return call;
	capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_SCRATCH_BUSY);
	return NULL;
}

static __always_inline void requests_call_end(struct requests_call *call)
{
	__sync_lock_test_and_set(&call->busy, 0);
}

/* Finds where the current system call has its memory; task: the current one. */
static __always_inline void requests_call_find(struct requests_call *call, struct task_struct *task)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);

	call->number = REGS_CALL(regs);
	user_vectors_of_call(&call->vectors, task, regs);
	call->of_file = !user_call_is_compat(task) &&
			(call->number == SYSCALL_SENDFILE || call->number == SYSCALL_SPLICE);
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
	const struct user_vector *vector = user_vector_at(&call->vectors, i);
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

static __always_inline __u32 requests_call_before(const struct requests_call *call)
{
	return call->before & REQUESTS_HEAD;
}

/*
 * Copies its bytes, from one on, behind what came before: at most REQUESTS_COPY_MAX in all,
 * call->copied of them. Not static, so that the verifier looks at it once.
 */
__weak __noinline int requests_call_copy(struct requests_call *call, __u32 from, __u32 want)
{
	struct requests_copying copying = {call, from, want, 0};

	if (!call)
		return 0;
	copying.done = requests_call_before(call);
	if (want > REQUESTS_COPY_MAX)
		copying.want = REQUESTS_COPY_MAX;
	/* most calls have one piece */
	if (!requests_call_copy_step(0, &copying) && call->vectors.count > 1)
		bpf_loop(USER_VECTORS_MAX, requests_call_copy_rest, &copying, 0);
	call->copied = copying.done;
	return 0;
}

/* The same of its first bytes, which most calls have in one piece. */
static __always_inline void requests_call_copy_first(struct requests_call *call, __u32 want)
{
	const struct user_vector *vector = &call->vectors.held[0];

	if (usually(call->vectors.count == 1 && vector->size >= want && !call->before &&
		    want <= REQUESTS_COPY_FIRST &&
		    !bpf_probe_read_user(call->data, want, (void *)vector->base)))
		call->copied = want;
	else if (call->vectors.count)
		requests_call_copy(call, 0, want);
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
	const struct user_vector *vector = user_vector_at(&call->vectors, i);

	if (!vector)
		return 1;
	if (tail->from >= vector->size) {
		tail->from -= vector->size;
		return 0;
	}
	tail->found = tail->from + REQUESTS_TAIL <= vector->size &&
		      !bpf_probe_read_user(call->wire.works.more.tail, REQUESTS_TAIL,
					   (void *)(vector->base + tail->from));
	return 1;
}

/*
 * Copies the last bytes of a call that moved that many, with what came before. 0: they could not be
 * found.
 */
__weak __noinline int requests_call_tail(struct requests_call *call, __u32 length)
{
	struct requests_tail tail = {call, length - REQUESTS_TAIL, 0};

	if (!call)
		return 0;
	tail.from -= requests_call_before(call);
	if (call->vectors.count == 1)
		requests_call_tail_step(0, &tail);
	else
		bpf_loop(USER_VECTORS_MAX, requests_call_tail_step, &tail, 0);
	return tail.found;
}

#endif
