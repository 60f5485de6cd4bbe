/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_MARKER_H
#define BPF_REQUESTS_MARKER_H

/*
 * Lines that programs write to /dev/null to say for which request a thread works from now on
 * (protocol/marker.h). No tracepoint tells of such writes alone. Where the kernel lets programs
 * stand at its functions, one stands where the null device takes data, and nothing else comes
 * there; else one is called as each system call of the machine ends, as for logs (logs.bpf.c).
 *
 * The null device does not read what is written to it, so that its pages need not be there: then
 * the record has nothing but that something could not be read.
 */
#include "bpf/sched/descriptor.h"

/* "stackcam", and the least of a line: "stackcam: end id=1". */
#define MARKER_WORD  NAME8('s', 't', 'a', 'c', 'k', 'c', 'a', 'm')
#define MARKER_LEAST 18

/* drivers/char/mem.c: major 1, minor 3, as the kernel has it in a dev_t */
#define NULL_DEVICE (1 << 20 | 3)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___marker {
	__u16 i_mode;
	__u32 i_rdev;
};

#pragma clang attribute pop

static __always_inline bool marker_is_null(struct task_struct *task, __u32 fd)
{
	struct file___descriptor *file = descriptor_of_number(task, fd);
	struct inode___marker *inode = file ? (void *)BPF_CORE_READ(file, f_inode) : NULL;

	return inode && BPF_CORE_READ(inode, i_rdev) == NULL_DEVICE &&
	       (BPF_CORE_READ(inode, i_mode) & MODE_TYPE) == MODE_DEVICE;
}

/* Whether what is written begins as a marker does, or cannot be read. */
static __always_inline bool marker_may_be(__u64 at, __u64 length)
{
	__u64 word;

	if (length < MARKER_LEAST)
		return false;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)at))
		return length <= REQUESTS_COPY_MAX;
	return word == MARKER_WORD;
}

static __noinline int marker_send(struct requests_call *call, enum filter_answer answer)
{
	struct requests_wire *wire = &call->wire;
	struct requests_more *more = &wire->works.more;
	struct requests_goroutines none = {};
	__u64 length = 0, task;
	__u32 want;

	requests_call_find(call, bpf_get_current_task_btf());
	if (call->vectors.count == 1)
		length = call->vectors.held[0].size;
	want = !length || length > REQUESTS_COPY_MAX ? REQUESTS_COPY_MAX : length;
	call->before = 0;
	requests_call_copy(call, 0, want);
	if (call->copied && *(__u64 *)call->data != MARKER_WORD)
		return 0;
	__builtin_memset(wire, 0, sizeof(*wire));
	identify(wire, NULL, answer);
	wire->head.kind = REQUESTS_MARKED;
	more->copied = call->copied;
	/* user space sees whether that is all */
	more->length = call->copied + (call->copied < length || call->copied == REQUESTS_COPY_MAX);
	requests_go_read(&wire->works, &none);
	task = requests_python_task();
	if (task)
		wire->works.task = task;
	more->flags = call->copied ? 0 : REQUESTS_UNREAD;
	send(call, wire, sizeof(*wire));
	return 0;
}

/* The system call of the current thread may write to the null device, or is sure to. */
static __always_inline int marker_look(const struct pt_regs___call *regs, bool is_sure)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer;
	struct requests_call *call;

	if (REGS_CALL(regs) == SYSCALL_WRITE) {
		if (!marker_may_be(REGS_CALL_ARG2(regs), REGS_CALL_ARG3(regs)))
			return 0;
	} else if (REGS_CALL(regs) != SYSCALL_WRITEV) {
		return 0;
	}
	/* numbers of calls of 32-bit programs mean other ones */
	if (user_call_is_compat(task) || (!is_sure && !marker_is_null(task, REGS_CALL_ARG1(regs))))
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO)
		return 0;
	call = requests_call_begin(1);
	if (!call)
		return 0;
	marker_send(call, answer);
	requests_call_end(call);
	return 0;
}

SEC("fentry/write_null")
int BPF_PROG(requests_marked_write)
{
	return marker_look((void *)bpf_task_pt_regs(bpf_get_current_task_btf()), true);
}

SEC("fentry/write_iter_null")
int BPF_PROG(requests_marked_pieces)
{
	return marker_look((void *)bpf_task_pt_regs(bpf_get_current_task_btf()), true);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(requests_marked_call, struct pt_regs___call *regs, long written)
{
	__u64 call = REGS_CALL(regs);

	if (written < MARKER_LEAST || (call != SYSCALL_WRITE && call != SYSCALL_WRITEV))
		return 0;
	return marker_look(regs, false);
}

#endif
