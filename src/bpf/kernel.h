/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

/*
 * The few kernel types that the probes look into, with just the fields used: CO-RE finds where they
 * really lie in the running kernel (by name, from its BTF).
 */

#include <linux/types.h>
#include <stdbool.h>

/*
 * What we declare ourselves, since older headers lack it, gets another name where newer ones have
 * it: so both can build this.
 */
#define bpf_iter_num  header_iter_num
#define bpf_task_work header_task_work
#include <linux/bpf.h>
#undef bpf_iter_num
#undef bpf_task_work
#define bpf_rdonly_cast header_rdonly_cast
#include <bpf/bpf_core_read.h>
#undef bpf_rdonly_cast
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "arch/bpf.h"

/*
 * What is true, or not, nearly always: the compiler puts the rest aside, so that a program which
 * runs between others has less code to bring into the CPU's caches.
 */
#define usually(condition) __builtin_expect(!!(condition), 1)
#define rarely(condition)  __builtin_expect(!!(condition), 0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct super_block {
	__u32 s_dev;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

/*
 * The page that the kernel adds to a process with uprobes; return probes return to its beginning.
 */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

/* A call whose return address the kernel has replaced. */
struct return_instance {
	unsigned long stack; /* where it stood */
	unsigned long orig_ret_vaddr;
	struct return_instance *next; /* of an outer call */
};

struct uprobe;
struct arch_uprobe;

struct uprobe_task {
	struct return_instance *return_instances; /* the innermost call's first */
	struct uprobe *active_uprobe;		  /* whose instruction runs as a copy; */
	unsigned long vaddr, xol_vaddr;		  /* where it is, and where the copy is */
	struct arch_uprobe *auprobe;		  /* while programs run: the one that was hit */
};

struct mm_struct {
	unsigned long start_code, end_code; /* of the program, without libraries */
	unsigned long start_stack;
	struct file *exe_file;
	struct uprobes_state uprobes_state;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct signal_struct {
	atomic_t live;
	unsigned int flags;
};

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

/* What is done about signals; all threads of a process share it. */
struct sighand_struct {
	refcount_t count;
	struct k_sigaction action[64];
};

/* Where the kernel accounts for what its tasks read (CONFIG_TASK_XACCT). */
struct task_io_accounting {
	__u64 rchar; /* bytes that read() and the like returned */
};

struct task_struct {
	int pid, tgid;
	unsigned int flags;
	char comm[16];
	struct mm_struct *mm;
	__u64 self_exec_id;
	__u64 start_time;
	struct task_struct *real_parent, *group_leader;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	unsigned int ptrace;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	unsigned long nvcsw; /* how often it has waited */
	struct task_io_accounting ioac;
	struct thread_struct thread;
	struct uprobe_task *utask;
};

struct seq_file;
struct bpf_map {
	__u32 id;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

/* What a program for the list of tasks is called with. */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* null: that was the last one */
};

#pragma clang attribute pop

struct bpf_perf_event_data {
	struct probe_regs regs;
	__u64 sample_period;
	__u64 addr;
};

/*
 * The most bytes of a value in task storage. Since Linux 6.19 such a value, with the kernel's own
 * words before it, has to fit into what its slabs give, two pages; else each one is refused.
 */
#define TASK_STORAGE_MAX (8192 - 256)

/*
 * A function of the kernel. Of the objects that are linked, the first alone may name its section:
 * bpftool (7.1) cannot link two that do.
 */
#ifdef LINKED_FIRST
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;
#else
extern void *bpf_rdonly_cast(const void *address, __u32 type) __weak;
#endif

/*
 * Whether programs may load from an address that can be any number (Linux 6.17). Set before
 * loading.
 */
const volatile bool kernel_loads __weak;

/*
 * A member of what a pointer, which can be any number, points to; 0 if that cannot be read. For
 * what each switch does: a load, where the kernel allows that, instead of a call of
 * bpf_core_read().
 */
#define KERNEL_READ(pointer, member)                                                  \
	({                                                                            \
		typeof(pointer) _at = (pointer);                                      \
		typeof(_at->member) _value = 0;                                       \
		if (kernel_loads)                                                     \
			_value = ((typeof(pointer))bpf_rdonly_cast(_at, 0))->member;  \
		else                                                                  \
			bpf_core_read((void *)&_value, sizeof(_value), &_at->member); \
		_value;                                                               \
	})

/* The same of what is known by its address alone. */
#define KERNEL_READ_AT(type, address)                                                            \
	({                                                                                       \
		type _value = 0;                                                                 \
		if (kernel_loads)                                                                \
			_value = *(type *)bpf_rdonly_cast((const void *)(address), 0);           \
		else                                                                             \
			bpf_probe_read_kernel(&_value, sizeof(_value), (const void *)(address)); \
		_value;                                                                          \
	})

/* linux/sched.h */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* linux/mm.h: a stack that grows by itself */
#define VM_GROWSDOWN 0x00000100

#endif
