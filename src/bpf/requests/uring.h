/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_URING_H
#define BPF_REQUESTS_URING_H

/*
 * The memory of a program that an entry of io_uring has filled, or sent. No system call leads to
 * it: the thread may be in any, or on its way back from one, or be one of io_uring's own. But the
 * functions of the kernel between io_uring and the socket keep the entry on the stack. It is
 * looked for there, from the innermost frame on, and believed if it is for that socket and moves
 * data in that direction. Its message then says where the data is: as much memory as was moved,
 * before the place that the message has come to.
 *
 * What it has in the kernel's own pages (registered buffers) is not found.
 */
#include "bpf/requests/call.h"
#include "bpf/sched/uring_worker.h"

/* Bytes of the stack that are looked through: to the registers at its top, or this many. */
#define REQUESTS_STACK_MAX 4096
/* The most pieces of one message that are looked at. */
#define REQUESTS_URING_PIECES 16

/* linux/io_uring.h */
enum {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_SENDMSG = 9,
	URING_RECVMSG = 10,
	URING_READ = 22,
	URING_WRITE = 23,
	URING_SEND = 26,
	URING_RECV = 27,
	URING_SEND_ZC = 47,
	URING_SENDMSG_ZC = 48,
};

#define URING_RECEIVES \
	(1ull << URING_READV | 1ull << URING_RECVMSG | 1ull << URING_READ | 1ull << URING_RECV)
#define URING_SENDS                                                                                \
	(1ull << URING_WRITEV | 1ull << URING_SENDMSG | 1ull << URING_WRITE | 1ull << URING_SEND | \
	 1ull << URING_SEND_ZC | 1ull << URING_SENDMSG_ZC)
#define URING_BY_MESSAGE                                                                           \
	(1ull << URING_SENDMSG | 1ull << URING_RECVMSG | 1ull << URING_SEND | 1ull << URING_RECV | \
	 1ull << URING_SEND_ZC | 1ull << URING_SENDMSG_ZC)

/* What a system call returns while it goes on (asm/entry). */
#define CALL_GOES_ON (-38l)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct socket___entries {
	void *sk;
};

struct file___entries {
	struct socket___entries *private_data;
};

struct io_kiocb___entries {
	struct file___entries *file;
	__u8 opcode;
	void *async_data;
};

/* In the place of the entry's file: */
struct io_sr_msg___entries {
	void *buf;
	int len;
	unsigned int done_io;
};

struct io_rw___entries {
	__u64 addr;
	__u32 len;
};

struct iovec___entries {
	void *iov_base;
	unsigned long iov_len;
};

struct iov_iter___entries {
	__u8 iter_type;
	unsigned long iov_offset;
	const struct iovec___entries *__iov;
	void *ubuf;
	unsigned long nr_segs;
};

struct msghdr___entries {
	struct iov_iter___entries msg_iter;
};

struct io_async_msghdr___entries {
	struct msghdr___entries msg;
	int free_iov_nr; /* from 6.10 on; */
	struct {
		unsigned int nr;
	} vec; /* and from 6.15 on */
};

struct io_async_rw___entries {
	struct iov_iter___entries iter;
};

#pragma clang attribute pop

enum iter_type___entries {
	ITER_UBUF___entries,
	ITER_IOVEC___entries,
};

/* A pointer as a number, which the verifier lets be compared with others. */
static __always_inline __u64 requests_address(const void *pointer)
{
	__u64 at = 0;

	bpf_probe_read_kernel(&at, sizeof(at), &pointer);
	return at;
}

/* -- the entry --------------------------------------------------------------------------------- */

struct requests_uring_search {
	struct requests_call *call;
	__u64 sk, found;
	__u64 operations; /* by bits */
	__u32 words;
};

/* Whether what is there is an entry that moves data of a socket. */
static __noinline bool requests_uring_is_entry(__u64 at, __u64 sk, __u64 operations)
{
	struct io_kiocb___entries *entry = (void *)at;
	__u8 operation = BPF_CORE_READ(entry, opcode);

	return operation < 64 && operations >> operation & 1 &&
	       (__u64)BPF_CORE_READ(entry, file, private_data, sk) == sk;
}

static long requests_uring_step(__u32 i, void *context)
{
	struct requests_uring_search *search = context;
	__u64 word;

	/* (so that the compiler keeps the bound for the verifier) */
	asm volatile("" : "+r"(i));
	if (i >= search->words || i >= REQUESTS_STACK_MAX / 8)
		return 1;
	word = ((__u64 *)search->call->data)[i];
	/* entries lie in the kernel's memory, at the beginnings of cache lines */
	if (word >> 56 != 0xff || word & 63 ||
	    !requests_uring_is_entry(word, search->sk, search->operations))
		return 0;
	search->found = word;
	return 1;
}

/* from: where the frames begin that are looked at, within the stack of the current thread. */
static __always_inline __u64 requests_uring_entry(struct requests_call *call, __u64 from, __u64 sk,
						  __u32 direction)
{
	__u64 top = requests_address((void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	struct requests_uring_search search = {
		.call = call, .sk = sk, .operations = direction ? URING_SENDS : URING_RECEIVES};
	__u32 size = REQUESTS_STACK_MAX;

	if (from >= top || from & 7)
		return 0;
	if (top - from < size)
		size = top - from;
	asm volatile("" : "+r"(size));
	if (size > REQUESTS_STACK_MAX || bpf_probe_read_kernel(call->data, size, (void *)from))
		return 0;
	search.words = size / 8;
	bpf_loop(REQUESTS_STACK_MAX / 8, requests_uring_step, &search, 0);
	return search.found;
}

/* -- its memory -------------------------------------------------------------------------------- */

/* A message, as it was after the socket has moved that many bytes, or before. */
struct requests_uring_pieces {
	struct requests_call *call;
	__u64 piece, offset; /* a struct iovec, and how far the message has come in it */
	__u64 rest;	     /* bytes that were moved, and whose place is to be found */
};

/* To the piece where what was moved begins. */
static long requests_uring_back(__u32 i, void *context)
{
	struct requests_uring_pieces *pieces = context;
	struct iovec___entries *piece;

	if (pieces->offset >= pieces->rest) {
		pieces->offset -= pieces->rest;
		return 1;
	}
	pieces->rest -= pieces->offset;
	pieces->piece -= bpf_core_type_size(struct iovec___entries);
	piece = (void *)pieces->piece;
	pieces->offset = BPF_CORE_READ(piece, iov_len);
	return 0;
}

/* And forward again, with each piece. */
static long requests_uring_hold(__u32 i, void *context)
{
	struct requests_uring_pieces *pieces = context;
	struct iovec___entries *piece = (void *)pieces->piece;
	struct user_vectors *vectors = &pieces->call->vectors;
	__u64 size = BPF_CORE_READ(piece, iov_len);

	if (!pieces->rest || i >= REQUESTS_URING_PIECES || size < pieces->offset)
		return 1;
	size -= pieces->offset;
	if (size > pieces->rest)
		size = pieces->rest;
	vectors->held[i & (USER_VECTORS - 1)] =
		(struct user_vector){(__u64)BPF_CORE_READ(piece, iov_base) + pieces->offset, size};
	vectors->count = i + 1;
	pieces->rest -= size;
	pieces->offset = 0;
	pieces->piece += bpf_core_type_size(struct iovec___entries);
	return 0;
}

static __always_inline void requests_uring_one(struct requests_call *call, __u64 base, __u64 size)
{
	call->vectors.held[0] = (struct user_vector){base, size};
	call->vectors.count = 1;
}

/* Finds where a message has its data. is_moved: it has come behind what was moved. */
static __noinline int requests_uring_message(struct requests_call *call, __u64 at, __u32 length,
					     bool is_moved)
{
	struct iov_iter___entries *message = (void *)at;
	struct requests_uring_pieces pieces = {.call = call, .rest = is_moved ? length : 0};
	__u32 type = BPF_CORE_READ(message, iter_type);

	pieces.offset = BPF_CORE_READ(message, iov_offset);
	if (type == bpf_core_enum_value(enum iter_type___entries, ITER_UBUF___entries)) {
		requests_uring_one(
			call, (__u64)BPF_CORE_READ(message, ubuf) + pieces.offset - pieces.rest,
			length);
		return 0;
	}
	if (type != bpf_core_enum_value(enum iter_type___entries, ITER_IOVEC___entries))
		return 0;
	pieces.piece = (__u64)BPF_CORE_READ(message, __iov);
	if (bpf_loop(REQUESTS_URING_PIECES, requests_uring_back, &pieces, 0) <= 0)
		return 0;
	pieces.rest = length;
	bpf_loop(REQUESTS_URING_PIECES, requests_uring_hold, &pieces, 0);
	return 0;
}

/* Before Linux 6.10 the message is on the stack: what the entry itself says. */
static __always_inline void requests_uring_plain(struct requests_call *call, __u64 entry,
						 __u8 operation, __u32 length)
{
	__u64 command = entry + bpf_core_field_offset(struct io_kiocb___entries, file);
	struct io_sr_msg___entries *message = (void *)command;
	struct io_rw___entries *plain = (void *)command;

	if ((operation == URING_SEND || operation == URING_RECV) &&
	    !BPF_CORE_READ(message, done_io) && length <= (__u32)BPF_CORE_READ(message, len))
		requests_uring_one(call, (__u64)BPF_CORE_READ(message, buf), length);
	else if ((operation == URING_READ || operation == URING_WRITE) &&
		 length <= BPF_CORE_READ(plain, len))
		requests_uring_one(call, BPF_CORE_READ(plain, addr), length);
}

static __always_inline void requests_uring_memory(struct requests_call *call, __u64 at,
						  __u32 length)
{
	struct io_kiocb___entries *entry = (void *)at;
	struct io_async_msghdr___entries *message = NULL;
	__u8 operation = BPF_CORE_READ(entry, opcode);
	__u64 more = (__u64)BPF_CORE_READ(entry, async_data);

	if (!bpf_core_field_exists(message->free_iov_nr) &&
	    !bpf_core_field_exists(message->vec.nr)) {
		requests_uring_plain(call, at, operation, length);
	} else if (more && 1ull << (operation & 63) & URING_BY_MESSAGE) {
		requests_uring_message(
			call,
			more + bpf_core_field_offset(struct io_async_msghdr___entries,
						     msg.msg_iter),
			length, true);
	} else if (more) {
		/* the socket has a copy of the message */
		requests_uring_message(
			call, more + bpf_core_field_offset(struct io_async_rw___entries, iter),
			length, false);
	}
}

/*
 * Whether an entry of the current thread's rings may have moved what a socket has moved just now,
 * and not a system call with memory of its own, which goes on.
 */
static __always_inline bool requests_uring_may(const struct requests_call *call,
					       struct task_struct *task)
{
	struct task_struct___uring *more = (void *)task;
	struct io_kiocb___entries *known = NULL;
	struct pt_regs___call *regs;

	if (!bpf_core_field_exists(more->io_uring) || !bpf_core_field_exists(known->async_data))
		return false;
	if (task->flags & PF_IO_WORKER)
		return true;
	if (!more->io_uring)
		return false;
	regs = (void *)bpf_task_pt_regs(task);
	return !call->vectors.count || (long)REGS_CALL_RESULT(regs) != CALL_GOES_ON;
}

/*
 * Finds the memory that such an entry has; frames: as of requests_uring_entry(). Not static, so
 * that the verifier looks at it once. Returns 0.
 */
__weak __noinline int requests_uring_find(struct requests_call *call, __u64 frames, __u64 sk,
					  __u32 direction, __u32 length)
{
	__u64 entry;

	if (!call)
		return 0;
	call->by_uring = 1;
	call->vectors.count = 0;
	call->vectors.window = 0;
	call->of_file = 0;
	call->number = SYSCALL_IO_URING_ENTER;
	entry = requests_uring_entry(call, frames, sk, direction);
	if (entry && length)
		requests_uring_memory(call, entry, length);
	else if (entry)
		requests_uring_one(call, 0, 0); /* nothing was moved, which needs no memory */
	return 0;
}

#endif
