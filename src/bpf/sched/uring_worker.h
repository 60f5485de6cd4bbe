/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_URING_WORKER_H
#define BPF_SCHED_URING_WORKER_H

/*
 * The kernel's own threads in a process that uses io_uring: workers, which do what would make the
 * thread that asks for it wait (io_uring/io-wq.c), and the thread of IORING_SETUP_SQPOLL. They are
 * in no system call: their registers are those of the thread that has made them.
 */
#include "bpf/kernel.h"

#define PF_IO_WORKER 0x00000010 /* linux/sched.h */

/* linux/io_uring.h: of io_uring_enter() */
#define URING_ENTER_GETEVENTS	    (1u << 0)
#define URING_ENTER_REGISTERED_RING (1u << 4)
#define URING_REGISTERED_MAX	    16

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_wq_work_node___uring {
	struct io_wq_work_node___uring *next;
};

struct io_wq_work___uring {
	struct io_wq_work_node___uring list;
};

/* What is around a piece of work. */
struct io_kiocb___work {
	struct io_wq_work___uring work;
};

struct io_worker___uring {
	struct io_wq_work___uring *cur_work;
};

struct llist_node___uring {
	struct llist_node___uring *next;
};

struct llist_head___uring {
	struct llist_node___uring *first;
};

struct io_uring_task___uring {
	struct llist_head___uring task_list;
	void *registered_rings[URING_REGISTERED_MAX];
};

struct task_struct___uring {
	struct io_uring_task___uring *io_uring;
	void *worker_private;
};

#pragma clang attribute pop

/* The entry (struct io_kiocb) that a worker works on; 0: it is none, or has nothing to do. */
static __always_inline __u64 uring_worked_on(struct task_struct *task)
{
	struct task_struct___uring *more = (void *)task;
	struct io_worker___uring *worker = NULL;
	__u64 work;

	if (!bpf_core_field_exists(worker->cur_work) ||
	    !bpf_core_field_exists(more->worker_private) || !(task->flags & PF_IO_WORKER))
		return 0;
	worker = BPF_CORE_READ(more, worker_private);
	/* the thread of IORING_SETUP_SQPOLL has none */
	if (!worker)
		return 0;
	work = (__u64)BPF_CORE_READ(worker, cur_work);
	return work ? work - bpf_core_field_offset(struct io_kiocb___work, work) : 0;
}

/*
 * The file of the ring that a thread has registered at a place, which stands for a descriptor;
 * null: there is none.
 */
static __always_inline void *uring_registered(struct task_struct *task, __u32 place)
{
	struct task_struct___uring *more = (void *)task;
	void *file = NULL, **files;

	if (!bpf_core_field_exists(more->io_uring->registered_rings) ||
	    place >= URING_REGISTERED_MAX)
		return NULL;
	files = (void **)((__u64)BPF_CORE_READ(more, io_uring) +
			  bpf_core_field_offset(struct io_uring_task___uring, registered_rings));
	if (bpf_probe_read_kernel(&file, sizeof(file), &files[place]))
		return NULL;
	return file;
}

#endif
