/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_USER_VECTORS_H
#define BPF_USER_VECTORS_H

/*
 * Where a program has the memory of its system call that moves data: found by the arguments of the
 * call, which the kernel keeps at the top of the thread's stack.
 */
#include "bpf/kernel.h"

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
#define USER_VECTORS	 32
#define USER_VECTORS_MAX 1024

struct user_vectors {
	__u32 count;  /* 0: not a call whose memory can be found */
	__u32 window; /* the number of the first one that is held */
	__u64 all;    /* where the program has them; 0: just one */
	struct user_vector held[USER_VECTORS];
};

/* Holds those of a call from one on. False: they cannot be read. */
static __always_inline bool user_vectors_hold(struct user_vectors *v, __u32 from)
{
	__u64 count = v->count - from;
	__u32 size;

	if (count > USER_VECTORS)
		count = USER_VECTORS;
	size = (__u32)count * sizeof(struct user_vector);
	v->window = from;
	return size && size <= sizeof(v->held) &&
	       !bpf_probe_read_user(v->held, size,
				    (void *)(v->all + from * sizeof(struct user_vector)));
}

static __always_inline void user_vectors_find(struct user_vectors *v, const void *at, __u64 count)
{
	v->all = (__u64)at;
	v->count = count > USER_VECTORS_MAX ? USER_VECTORS_MAX : count;
	if (!count || !user_vectors_hold(v, 0))
		v->count = 0;
}

/* One of them; null: there is none, or it cannot be read. */
static __always_inline const struct user_vector *user_vector_at(struct user_vectors *v, __u32 i)
{
	if (i >= v->count)
		return NULL;
	if (v->window != (i & ~(USER_VECTORS - 1)) &&
	    !user_vectors_hold(v, i & ~(USER_VECTORS - 1)))
		return NULL;
	return &v->held[i & (USER_VECTORS - 1)];
}

/*
 * Those of the current system call, which the task has entered with these registers; none: it is
 * not one that is known to have such.
 */
static __always_inline void user_vectors_of_call(struct user_vectors *v, struct task_struct *task,
						 const struct pt_regs___call *regs)
{
	struct user_message message;

	v->count = 0;
	v->window = 0;
	if (user_call_is_compat(task))
		return;
	switch (REGS_CALL(regs)) {
	case SYSCALL_READ:
	case SYSCALL_WRITE:
	case SYSCALL_PWRITE64:
	case SYSCALL_RECVFROM:
	case SYSCALL_SENDTO:
		v->held[0].base = REGS_CALL_ARG2(regs);
		v->held[0].size = REGS_CALL_ARG3(regs);
		v->count = 1;
		break;
	case SYSCALL_READV:
	case SYSCALL_WRITEV:
	case SYSCALL_PWRITEV:
	case SYSCALL_PREADV2:
	case SYSCALL_PWRITEV2:
		user_vectors_find(v, (void *)REGS_CALL_ARG2(regs), REGS_CALL_ARG3(regs));
		break;
	case SYSCALL_RECVMSG:
	case SYSCALL_SENDMSG:
		if (!bpf_probe_read_user(&message, sizeof(message), (void *)REGS_CALL_ARG2(regs)))
			user_vectors_find(v, message.vectors, message.count);
		break;
	}
}

#endif
