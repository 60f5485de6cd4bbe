/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_POLLS_H
#define BPF_SCHED_POLLS_H

/*
 * Which descriptor of a poll(2) or select(2) wakes its thread. The kernel keeps what such a thread
 * waits for in a struct poll_wqueues on the thread's stack (fs/select.c): an entry for each queue
 * that it stands in. What has news takes the lock of its queue, sets "triggered", and wakes the
 * thread then. So at that moment the queue whose lock is taken is the one; if those of two files
 * are, another CPU has taken one, and it is not known which. A timer or a signal takes none.
 *
 * Read without locks, and on another thread's stack: every read may fail, or find something else,
 * so what is found must show itself to be what it should be.
 */
#include "bpf/sched/ready.h"

/* Of the stack of a thread that waits, from its lowest end: words that are looked through. */
#define POLL_STACK_WORDS 256
/* The most queues that are looked at. */
#define POLL_QUEUES 256
/* The number that a file has as a descriptor is looked for among the first ones. */
#define POLL_DESCRIPTORS 256
#define POLL_NO_NUMBER	 0xffffffff

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qspinlock___poll {
	atomic_t val;
};

struct raw_spinlock___poll {
	struct qspinlock___poll raw_lock;
};

struct spinlock___poll {
	struct raw_spinlock___poll rlock;
};

struct wait_queue_head___poll {
	struct spinlock___poll lock;
};

struct wait_queue_entry___poll {
	void *private;
};

struct poll_table_entry___poll {
	struct file *filp;
	struct wait_queue_entry___poll wait;
	struct wait_queue_head___poll *wait_address;
};

struct poll_table_page___poll {
	struct poll_table_page___poll *next;
	struct poll_table_entry___poll *entry; /* where the next one goes */
	struct poll_table_entry___poll entries[1];
};

struct poll_wqueues___poll {
	struct poll_table_page___poll *table;
	struct task_struct *polling_task;
	int triggered;
	int inline_index;
	struct poll_table_entry___poll inline_entries[1];
};

#pragma clang attribute pop

/* How far above the lowest end of the stack it was found last: of poll(2), and of select(2). */
__u32 poll_distance[2] __weak;

/* It says whose it is, and its first entry leads back to it. */
static __always_inline bool poll_is_table(__u64 at, __u64 task)
{
	struct poll_wqueues___poll *table = (void *)at;

	return (__u64)BPF_CORE_READ(table, polling_task) == task &&
	       (__u64)BPF_CORE_READ(table, inline_entries[0].wait.private) == at;
}

struct poll_search {
	__u64 task, stack, found;
};

static long poll_search_step(__u32 i, void *context)
{
	struct poll_search *search = context;
	__u64 at = search->stack + 8 * i;

	if (!poll_is_table(at, search->task))
		return 0;
	search->found = at;
	return 1;
}

/* Where a thread that is in poll(2) or select(2) has it; 0: not found. */
static __always_inline __u64 poll_table(struct task_struct *task, bool is_select)
{
	struct poll_search search = {.task = (__u64)task, .stack = TASK_KERNEL_SP(task)};
	__u64 likely = search.stack + poll_distance[is_select];

	if (poll_is_table(likely, search.task))
		return likely;
	bpf_loop(POLL_STACK_WORDS, poll_search_step, &search, 0);
	if (search.found)
		poll_distance[is_select] = search.found - search.stack;
	return search.found;
}

/* A way along the entries: those on the stack, and then those in pages. */
struct poll_way {
	__u64 at, end, page;
	__u64 file; /* of the queue whose lock is taken; 0: none yet */
	bool is_done, are_two;
};

static long poll_way_step(__u32 i, void *context)
{
	struct poll_way *way = context;
	struct poll_table_entry___poll *entry = (void *)way->at;
	struct poll_table_page___poll *page = (void *)way->page;
	struct wait_queue_head___poll *queue;
	__u64 file;

	if (way->at >= way->end) {
		way->is_done = !page;
		way->at = way->page + bpf_core_field_offset(struct poll_table_page___poll, entries);
		way->end = (__u64)BPF_CORE_READ(page, entry);
		way->page = (__u64)BPF_CORE_READ(page, next);
		return way->is_done;
	}
	way->at += bpf_core_type_size(struct poll_table_entry___poll);
	queue = BPF_CORE_READ(entry, wait_address);
	if (!(BPF_CORE_READ(queue, lock.rlock.raw_lock.val.counter) & 0xff))
		return 0;
	file = (__u64)BPF_CORE_READ(entry, filp);
	way->are_two = way->file && way->file != file;
	way->file = file;
	return way->are_two;
}

/* The file that wakes a thread of poll(2) or select(2), just now; 0: none does, or not known. */
static __always_inline __u64 poll_file(struct task_struct *task, bool is_select)
{
	struct poll_wqueues___poll *table;
	struct wait_queue_head___poll *queue = NULL;
	struct poll_way way = {};

	if (!bpf_core_field_exists(queue->lock.rlock.raw_lock.val.counter))
		return 0;
	table = (void *)poll_table(task, is_select);
	if (!table || !BPF_CORE_READ(table, triggered))
		return 0;
	way.at = (__u64)table + bpf_core_field_offset(struct poll_wqueues___poll, inline_entries);
	way.end = way.at + (__u64)(__u32)BPF_CORE_READ(table, inline_index) *
				   bpf_core_type_size(struct poll_table_entry___poll);
	way.page = (__u64)BPF_CORE_READ(table, table);
	bpf_loop(POLL_QUEUES, poll_way_step, &way, 0);
	return way.is_done && !way.are_two ? way.file : 0;
}

struct poll_number {
	__u64 files, file;
	__u32 fd;
};

static long poll_number_step(__u32 i, void *context)
{
	struct poll_number *number = context;
	__u64 file = 0;

	if (bpf_probe_read_kernel(&file, sizeof(file), (void *)(number->files + 8 * i)))
		return 1;
	if (file != number->file)
		return 0;
	number->fd = i;
	return 1;
}

/* What a file is called by in its process. likely: the last one that was found. */
static __always_inline __u32 poll_number(struct task_struct *task, __u64 file, __u32 likely)
{
	struct task_struct___descriptor *more = (void *)task;
	struct fdtable___descriptor *table = BPF_CORE_READ(more, files, fdt);
	struct poll_number number = {.file = file, .fd = POLL_NO_NUMBER};
	__u32 count = BPF_CORE_READ(table, max_fds);

	if ((__u64)descriptor_of_number(task, likely) == file)
		return likely;
	number.files = (__u64)BPF_CORE_READ(table, fd);
	bpf_loop(count < POLL_DESCRIPTORS ? count : POLL_DESCRIPTORS, poll_number_step, &number, 0);
	return number.fd;
}

/* The object of the descriptor that wakes a thread; 0: none does, or it is not known. */
static __always_inline __u32 poll_ready(struct task_struct *task, bool is_select)
{
	__u64 file = poll_file(task, is_select);
	struct ready_slot *slot = file ? ready_slot(task, file) : NULL;
	__u32 fd = 0;
	__u8 descriptor;

	if (!slot)
		return 0;
	descriptor = descriptor_of_file(file);
	/* what has a name of its own is not known by its number */
	if (!object_has_path(descriptor) && !object_is_socket(descriptor))
		fd = poll_number(task, file, slot->seen.fd);
	object_look_at(&slot->seen, file, fd);
	return object_number_of(&slot->seen, task);
}

#endif
