/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OBJECT_SEEN_H
#define BPF_SCHED_OBJECT_SEEN_H

/* The object of a thread's wait, found out anew only where it is another one than the last time. */
#include "bpf/sched/object.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file___seen {
	struct inode *f_inode;
	void *f_op;
};

#pragma clang attribute pop

/* What a thread has waited for last. All zero: nothing yet. */
struct object_seen {
	__u64 file, operations, inode, name;
	__u32 fd, age;
	__u32 object; /* its number; 0: not known */
	__u8 descriptor;
	__u8 is_new; /* the number is still to be found out */
};

/* The file that a descriptor is of. Each step that can be is a load: this is often done. */
static __always_inline struct file___seen *object_file(struct task_struct *task, __u32 fd)
{
	struct task_struct___descriptor *more = (void *)task;
	struct fdtable___descriptor *table = more->files->fdt;
	struct file___descriptor **files = table->fd;

	return fd < table->max_fds ? KERNEL_READ_AT(struct file___seen *, &files[fd]) : NULL;
}

/* poll(2) with one descriptor waits for that one. It is the current thread that does. */
static __always_inline bool object_polled(__u64 call, __u64 descriptors, __u64 count, __u32 *fd)
{
	return (call == SYSCALL_POLL || call == SYSCALL_PPOLL) && count == 1 &&
	       !bpf_probe_read_user(fd, sizeof(*fd), (void *)descriptors);
}

/* The descriptors below 64 of a set of select(2), which the kernel leaves as it is meanwhile. */
static __always_inline __u64 object_set(__u64 set, __u64 count)
{
	__u64 bits = 0;

	if (!set || bpf_probe_read_user(&bits, sizeof(bits), (void *)set))
		return 0;
	return count < 64 ? bits & ((1ull << count) - 1) : bits;
}

/* select(2) with one descriptor, which is below 64, waits for that one. */
static __always_inline bool object_selected(__u64 call, __u64 count, const __u64 sets[3], __u32 *fd)
{
	__u64 all;

	if ((call != SYSCALL_SELECT && call != SYSCALL_PSELECT6) || !count || count > 64)
		return false;
	all = object_set(sets[0], count) | object_set(sets[1], count) | object_set(sets[2], count);
	if (!all || all & (all - 1))
		return false;
	/* the highest descriptor decides the count */
	*fd = count - 1;
	return all >> *fd == 1;
}

/*
 * Finds what a descriptor is of: the kind, which is returned. file: its address. Not static, so
 * that the verifier looks at it once, and not once for each way that leads here.
 *
 * The memory of a file that was closed is soon another one's. Sockets, pipes and files have a
 * number of their own; what has none is known by its operations.
 */
__weak __noinline int object_look_at(struct object_seen *seen, __u64 address, __u32 fd)
{
	struct file___seen *file = (void *)address;
	__u64 operations, inode, name;
	__u8 descriptor;
	bool is_same;

	if (!seen || !file)
		return OFF_CPU_FD_NONE;
	descriptor = seen->descriptor;
	operations = (__u64)KERNEL_READ(file, f_op);
	inode = KERNEL_READ(KERNEL_READ(file, f_inode), i_ino);
	is_same =
		(__u64)file == seen->file && operations == seen->operations && inode == seen->inode;
	if (!is_same)
		descriptor = descriptor_of_file((__u64)file);
	name = object_name((void *)file, descriptor);
	if (is_same && name == seen->name && fd == seen->fd && seen->age == object_age())
		return descriptor;
	seen->descriptor = descriptor;
	seen->file = (__u64)file;
	seen->operations = operations;
	seen->inode = inode;
	seen->name = name;
	seen->fd = fd;
	seen->age = object_age();
	seen->is_new = 1;
	return descriptor;
}

/* The number of what was looked at last: from here, as what finds it needs the whole stack. */
static __always_inline __u32 object_number_of(struct object_seen *seen, struct task_struct *task)
{
	if (seen->is_new) {
		seen->object = object_of(task, (void *)seen->file, seen->descriptor, seen->fd,
					 SCHED_OBJECT);
		/* one that was lost is asked for again */
		seen->is_new = !seen->object;
	}
	return seen->object;
}

#endif
