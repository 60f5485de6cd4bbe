/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_DESCRIPTOR_H
#define BPF_SCHED_DESCRIPTOR_H

/*
 * What the descriptor of a system call is of. What is read may be closed and freed meanwhile, by
 * another thread: every read may fail, or find something else, which costs an answer and nothing
 * more.
 */
#include "bpf/kernel.h"
#include "bpf/sched/off_cpu_abi.h"
#include "bpf/opaque.h"
#include "bpf/sched/uring_worker.h"

/* System calls with a descriptor have a number below this. */
#define DESCRIPTOR_CALLS 512

/*
 * By number of the system call: its first argument is the descriptor that it may wait for. Set
 * before loading.
 */
const volatile bool descriptor_calls[DESCRIPTOR_CALLS] __weak;

/* A number below DESCRIPTOR_CALLS as a place in such a table, for the verifier of Linux 6.1. */
static __always_inline __u64 descriptor_call(__u64 call)
{
	OPAQUE(call);
	return call & (DESCRIPTOR_CALLS - 1);
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fdtable___descriptor {
	unsigned int max_fds;
	struct file___descriptor **fd;
};

struct files_struct___descriptor {
	struct fdtable___descriptor *fdt;
};

struct super_block___descriptor {
	unsigned long s_magic;
};

struct inode___descriptor {
	__u16 i_mode;
	struct super_block___descriptor *i_sb;
};

struct file___descriptor {
	struct inode___descriptor *f_inode;
	struct path f_path;
	void *private_data;
};

struct sock_common___descriptor {
	unsigned short skc_family;
};

struct sock___descriptor {
	struct sock_common___descriptor __sk_common;
};

struct socket___descriptor {
	struct sock___descriptor *sk;
};

struct task_struct___descriptor {
	struct files_struct___descriptor *files;
};

#pragma clang attribute pop

/* linux/stat.h */
#define MODE_TYPE	  0170000
#define MODE_SOCKET	  0140000
#define MODE_FILE	  0100000
#define MODE_BLOCK_DEVICE 0060000
#define MODE_DIRECTORY	  0040000
#define MODE_DEVICE	  0020000
#define MODE_PIPE	  0010000

/* linux/magic.h; that of pidfs is in fs/pidfs.c */
#define MAGIC_ANONYMOUS 0x09041934
#define MAGIC_PID	0x50494446

#define FAMILY_UNIX	1 /* linux/socket.h */

/* The first eight bytes of a name, as the number that they are in memory. */
#define NAME8(a, b, c, d, e, f, g, h)                                                            \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

/* Files without a file system say what they are by their names. */
static __always_inline __u8 descriptor_named(struct file___descriptor *file)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	__u64 begins = 0;

	if (bpf_probe_read_kernel(&begins, sizeof(begins), name))
		return OFF_CPU_FD_OTHER;
	switch (begins) {
	case NAME8('[', 'e', 'v', 'e', 'n', 't', 'f', 'd'):
		return OFF_CPU_FD_EVENT;
	case NAME8('[', 't', 'i', 'm', 'e', 'r', 'f', 'd'):
		return OFF_CPU_FD_TIMER;
	case NAME8('[', 's', 'i', 'g', 'n', 'a', 'l', 'f'):
		return OFF_CPU_FD_SIGNAL;
	case NAME8('[', 'e', 'v', 'e', 'n', 't', 'p', 'o'):
		return OFF_CPU_FD_EPOLL;
	case NAME8('i', 'n', 'o', 't', 'i', 'f', 'y', 0):
	case NAME8('[', 'f', 'a', 'n', 'o', 't', 'i', 'f'):
		return OFF_CPU_FD_NOTIFY;
	case NAME8('[', 'p', 'i', 'd', 'f', 'd', ']', 0):
		return OFF_CPU_FD_PROCESS;
	case NAME8('[', 'i', 'o', '_', 'u', 'r', 'i', 'n'):
		return OFF_CPU_FD_IO_URING;
	default:
		return OFF_CPU_FD_OTHER;
	}
}

static __always_inline __u8 descriptor_of_socket(struct file___descriptor *file)
{
	struct socket___descriptor *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk, __sk_common.skc_family) == FAMILY_UNIX
		       ? OFF_CPU_FD_UNIX_SOCKET
		       : OFF_CPU_FD_SOCKET;
}

/* The file of a task's descriptor; null: there is none. */
static __always_inline struct file___descriptor *descriptor_of_number(struct task_struct *task,
								      __u32 fd)
{
	struct task_struct___descriptor *more = (void *)task;
	struct file___descriptor *file = NULL, **files;
	struct fdtable___descriptor *table = BPF_CORE_READ(more, files, fdt);

	files = BPF_CORE_READ(table, fd);
	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), &files[fd]))
		return NULL;
	return file;
}

/*
 * The file that a system call of a task may wait for, whose registers these are; null: there is
 * none.
 */
static __always_inline struct file___descriptor *descriptor_file(struct task_struct *task,
								 const struct probe_regs *regs)
{
	__u64 call = REGS_CALL(regs);

	if (call >= DESCRIPTOR_CALLS || !descriptor_calls[descriptor_call(call)])
		return NULL;
	if (call == SYSCALL_IO_URING_ENTER && REGS_CALL_ARG4(regs) & URING_ENTER_REGISTERED_RING)
		return uring_registered(task, REGS_CALL_ARG1(regs));
	return descriptor_of_number(task, REGS_CALL_ARG1(regs));
}

/*
 * enum off_cpu_descriptor: what the file at an address is. Not static, so that the verifier looks
 * at it once, and not at what follows once for each kind.
 */
__weak __noinline int descriptor_of_file(__u64 address)
{
	struct file___descriptor *file = (void *)address;
	struct inode___descriptor *inode = BPF_CORE_READ(file, f_inode);
	__u64 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if (magic == MAGIC_ANONYMOUS)
		return descriptor_named(file);
	if (magic == MAGIC_PID)
		return OFF_CPU_FD_PROCESS;
	switch (BPF_CORE_READ(inode, i_mode) & MODE_TYPE) {
	case MODE_FILE:
		return OFF_CPU_FD_FILE;
	case MODE_DIRECTORY:
		return OFF_CPU_FD_DIRECTORY;
	case MODE_BLOCK_DEVICE:
		return OFF_CPU_FD_BLOCK_DEVICE;
	case MODE_DEVICE:
		return OFF_CPU_FD_DEVICE;
	case MODE_PIPE:
		return OFF_CPU_FD_PIPE;
	case MODE_SOCKET:
		return descriptor_of_socket(file);
	default:
		return OFF_CPU_FD_OTHER;
	}
}

/* enum off_cpu_descriptor: of a system call of a task, whose registers these are. */
static __noinline __u8 descriptor_kind(struct task_struct *task, const struct probe_regs *regs)
{
	struct file___descriptor *file = descriptor_file(task, regs);

	return file ? descriptor_of_file((__u64)file) : OFF_CPU_FD_NONE;
}

#endif
