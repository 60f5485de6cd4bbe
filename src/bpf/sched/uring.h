/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_URING_H
#define BPF_SCHED_URING_H

/*
 * Which entry of an io_uring ends its thread's wait (io_uring/io_uring.c in the kernel). No probe
 * listens to entries: what wakes the thread has put the entry somewhere just before.
 *
 * - What becomes ready in an interrupt or in another thread is work for the thread itself. It is
 *   on a list of the thread, or, with IORING_SETUP_DEFER_TASKRUN, of the ring, the last one first.
 * - A worker of io_uring has the entry that it has completed as its current work.
 * - The thread of IORING_SETUP_SQPOLL, or another thread of the program, has a list of what it
 *   completes, and holds the lock of the ring meanwhile.
 *
 * Read without locks: every read may fail, or find something else. An entry that is found must be
 * of the ring, and where several may have ended the wait, none is named.
 */
#include "bpf/sched/object.h"
#include "bpf/sched/polls.h"
#include "bpf/sched/uring_worker.h"

/* Entries, and places of the table of those in flight, that are looked at. */
#define URING_LIST_MAX	 256
#define URING_FLIGHT_MAX 1024
/* What object_report can say of the count of those in flight. */
#define URING_FLIGHTS_MAX 255

/* linux/io_uring_types.h */
#define URING_REQUEST_CQE_SKIP (1u << 6)
/* linux/io_uring.h */
#define URING_SETUP_DEFER_TASKRUN (1u << 13)
#define URING_OPERATION_NOP	  0
#define URING_OPERATION_OPENAT	  18
#define URING_OPERATION_OPENAT2	  28

/* In the address of an entry: it is completed. One that is not may be tried again. */
#define URING_DONE  1ull

#define MUTEX_FLAGS 7ull /* kernel/locking/mutex.c: of its owner's word */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_wq_work_list___uring {
	struct io_wq_work_node___uring *first;
};

struct io_submit_state___uring {
	struct io_wq_work_list___uring compl_reqs;
	bool cq_flush;
};

struct hlist_node___uring {
	struct hlist_node___uring *next;
};

struct hlist_head___uring {
	struct hlist_node___uring *first;
};

struct io_hash_bucket___uring {
	struct hlist_head___uring list;
};

struct io_hash_table___uring {
	struct io_hash_bucket___uring *hbs;
	unsigned int hash_bits;
};

struct list_head___uring {
	struct list_head___uring *next;
};

typedef struct {
	long counter;
} atomic_long_t___uring;

struct mutex___uring {
	atomic_long_t___uring owner;
};

struct io_ring_ctx___uring {
	unsigned int flags;
	struct mutex___uring uring_lock;
	struct llist_head___uring work_llist;
	atomic_t cq_wait_nr;
	struct io_submit_state___uring submit_state;
	struct io_hash_table___uring cancel_table, cancel_table_locked;
	struct list_head___uring timeout_list;
};

/* Since Linux 7.2 work is in queues, from the head on, with a node of their own among it. */
struct mpscq___uring {
	struct llist_node___uring stub;
};

struct io_uring_task___queue {
	struct llist_node___uring *task_head;
	struct mpscq___uring task_list;
};

struct io_ring_ctx___queue {
	struct llist_node___uring *work_head;
	struct mpscq___uring work_list;
};

struct io_task_work___uring {
	struct llist_node___uring node;
};

struct io_cqe___uring {
	__s32 res;
};

struct io_kiocb___uring {
	struct file___descriptor *file;
	__u8 opcode;
	unsigned int nr_tw;
	__u32 flags; /* the lower half, where there are more */
	struct io_cqe___uring cqe;
	struct io_ring_ctx___uring *ctx;
	struct io_wq_work_node___uring comp_list;
	struct io_task_work___uring io_task_work;
	struct hlist_node___uring hash_node;
	struct io_wq_work___uring work;
};

struct io_open___uring {
	__u32 file_slot;
};

struct io_timeout___uring {
	struct list_head___uring list;
};

struct file___uring {
	struct io_ring_ctx___uring *private_data;
};

#pragma clang attribute pop

/* The kernel has io_uring, and its records are as they are understood here. */
static __always_inline bool uring_is_known(void)
{
	struct task_struct___uring *task = NULL;
	struct io_kiocb___uring *request = NULL;
	struct io_ring_ctx___uring *ring = NULL;
	struct io_uring_task___queue *task_queue = NULL;
	struct io_ring_ctx___queue *ring_queue = NULL;
	bool has_lists = bpf_core_field_exists(task->io_uring->task_list.first) &&
			 bpf_core_field_exists(ring->work_llist.first);
	bool has_queues = bpf_core_field_exists(task_queue->task_head) &&
			  bpf_core_field_exists(task_queue->task_list.stub) &&
			  bpf_core_field_exists(ring_queue->work_head) &&
			  bpf_core_field_exists(ring_queue->work_list.stub);

	return (has_lists || has_queues) && bpf_core_field_exists(task->io_uring) &&
	       bpf_core_field_exists(request->io_task_work.node) &&
	       bpf_core_field_exists(request->work) && bpf_core_field_exists(request->ctx) &&
	       bpf_core_field_exists(ring->submit_state.compl_reqs.first) &&
	       bpf_core_field_exists(ring->uring_lock.owner.counter) &&
	       bpf_core_field_exists(ring->timeout_list) &&
	       bpf_core_field_exists(ring->cancel_table.hbs) &&
	       bpf_core_type_exists(struct io_open___uring);
}

/* A ring's records, by its file. */
static __always_inline __u64 uring_of_file(__u64 file)
{
	return (__u64)BPF_CORE_READ((struct file___uring *)file, private_data);
}

/* -- what ended a wait ------------------------------------------------------------------------- */

/* A way along a list of work, from what was added last. */
struct uring_way {
	__u64 at, found;
	__u32 wanted; /* entries that the wait is for; 0: the first one that is added ends it */
	bool is_done;
};

static long uring_way_step(__u32 i, void *context)
{
	struct uring_way *way = context;
	struct llist_node___uring *node = (void *)way->at;
	struct io_kiocb___uring *request =
		(void *)way->at - bpf_core_field_offset(struct io_kiocb___uring, io_task_work.node);

	if (!way->at) {
		way->is_done = true;
		return 1;
	}
	/* how many were there when it was added, itself with them; more, if it wakes in any case */
	if (way->wanted && BPF_CORE_READ(request, nr_tw) < way->wanted) {
		way->is_done = true;
		return 1;
	}
	way->found = (__u64)request;
	way->at = (__u64)BPF_CORE_READ(node, next);
	return 0;
}

/* Of a list of work, what has woken the thread; 0: none has. wanted: as in struct uring_way. */
static __always_inline __u64 uring_of_list(struct llist_node___uring *first, __u32 wanted)
{
	struct uring_way way = {.at = (__u64)first, .wanted = wanted};

	bpf_loop(URING_LIST_MAX, uring_way_step, &way, 0);
	return way.is_done ? way.found : 0;
}

/* The oldest piece of work of a queue; 0: it has none. */
static __always_inline __u64 uring_of_queue(__u64 head, __u64 stub)
{
	return !head || head == stub ? (__u64)BPF_CORE_READ((struct llist_node___uring *)stub, next)
				     : head;
}

static __always_inline __u64 uring_of_node(__u64 node)
{
	return node - bpf_core_field_offset(struct io_kiocb___uring, io_task_work.node);
}

/*
 * As uring_of_work(), of queues: a thread that waits for entries of a ring may want several, and
 * how many were there when one was added is not known; so only one that is alone has ended it.
 */
static __always_inline __u64 uring_of_queues(__u64 of_task, __u64 of_ring, __u32 flags)
{
	struct io_uring_task___queue *task = (void *)of_task;
	struct io_ring_ctx___queue *ring = (void *)of_ring;
	__u64 stub = of_task + bpf_core_field_offset(struct io_uring_task___queue, task_list.stub);
	__u64 own = uring_of_queue((__u64)BPF_CORE_READ(task, task_head), stub);
	__u64 local = 0, next = 0;

	stub = of_ring + bpf_core_field_offset(struct io_ring_ctx___queue, work_list.stub);
	if (flags & URING_SETUP_DEFER_TASKRUN)
		local = uring_of_queue((__u64)BPF_CORE_READ(ring, work_head), stub);
	if (local)
		next = (__u64)BPF_CORE_READ((struct llist_node___uring *)local, next);
	if (own)
		return local ? 0 : uring_of_node(own);
	return local && (!next || next == stub) ? uring_of_node(local) : 0;
}

/* Work for the thread itself, of any of its rings. */
static __always_inline __u64 uring_of_work(__u64 of_task, __u64 of_ring)
{
	struct io_uring_task___uring *task = (void *)of_task;
	struct io_ring_ctx___uring *ring = (void *)of_ring;
	__u32 wanted = 0, flags = BPF_CORE_READ(ring, flags);
	struct llist_node___uring *own, *local = NULL;

	if (!bpf_core_field_exists(ring->work_llist.first))
		return uring_of_queues(of_task, of_ring, flags);
	own = BPF_CORE_READ(task, task_list.first);
	if (flags & URING_SETUP_DEFER_TASKRUN)
		local = BPF_CORE_READ(ring, work_llist.first);
	if (bpf_core_field_exists(ring->cq_wait_nr))
		wanted = BPF_CORE_READ(ring, cq_wait_nr.counter);
	if (own)
		return local ? 0 : uring_of_list(own, 0);
	return uring_of_list(local, wanted);
}

/* What a thread completes at once. */
struct uring_batch {
	__u64 at, found, file;
	__u8 operation;
	bool is_done, are_several;
};

static long uring_batch_step(__u32 i, void *context)
{
	struct uring_batch *batch = context;
	struct io_kiocb___uring *request =
		(void *)batch->at - bpf_core_field_offset(struct io_kiocb___uring, comp_list);
	__u64 file;
	__u8 operation;

	if (!batch->at) {
		batch->is_done = true;
		return 1;
	}
	batch->at = (__u64)BPF_CORE_READ(request, comp_list.next);
	if (BPF_CORE_READ(request, flags) & URING_REQUEST_CQE_SKIP)
		return 0;
	file = (__u64)BPF_CORE_READ(request, file);
	operation = BPF_CORE_READ(request, opcode);
	batch->are_several = batch->found && (file != batch->file || operation != batch->operation);
	batch->found = (__u64)request;
	batch->file = file;
	batch->operation = operation;
	return batch->are_several;
}

/* What the current thread completes, which has the lock of the ring. */
static __always_inline __u64 uring_of_batch(__u64 of_ring)
{
	struct io_ring_ctx___uring *ring = (void *)of_ring;
	struct uring_batch batch = {};

	/* older kernels wake with entries on the list that are not completed yet */
	if (!bpf_core_field_exists(ring->submit_state.cq_flush) ||
	    (BPF_CORE_READ(ring, uring_lock.owner.counter) & ~MUTEX_FLAGS) !=
		    (__u64)bpf_get_current_task_btf())
		return 0;
	batch.at = (__u64)BPF_CORE_READ(ring, submit_state.compl_reqs.first);
	bpf_loop(URING_LIST_MAX, uring_batch_step, &batch, 0);
	return batch.is_done && !batch.are_several ? batch.found : 0;
}

/*
 * The entry that ends the wait of a thread for a ring just now; 0: none does, or it is not known.
 * of_task: its struct io_uring_task; by_thread: the current thread wakes it, and no interrupt. Not
 * static, so that the verifier looks at it once.
 */
__weak __noinline __u64 uring_ended_by(__u64 of_task, __u64 of_ring, bool by_thread)
{
	struct io_kiocb___uring *request = NULL;
	__u64 done = 0;

	if (!uring_is_known() || !of_task || !of_ring)
		return 0;
	request = (void *)uring_of_work(of_task, of_ring);
	if (!request && by_thread) {
		done = URING_DONE;
		request = (void *)uring_worked_on(bpf_get_current_task_btf());
		if (request && (__u64)BPF_CORE_READ(request, ctx) != of_ring)
			return 0;
		if (!request)
			request = (void *)uring_of_batch(of_ring);
	}
	/* what is on a list without an operation of its own is of the kernel, or a message */
	if (!request || BPF_CORE_READ(request, opcode) == URING_OPERATION_NOP ||
	    BPF_CORE_READ(request, flags) & URING_REQUEST_CQE_SKIP)
		return 0;
	return (__u64)request | done;
}

/* -- what is in flight ------------------------------------------------------------------------- */

struct uring_flight {
	__u64 ring, first; /* first: the entry that was found first */
	__u64 buckets, node;
	__u32 left, found;
};

static __always_inline void uring_found(struct uring_flight *flight, __u64 request)
{
	if ((__u64)BPF_CORE_READ((struct io_kiocb___uring *)request, ctx) != flight->ring)
		return;
	if (!flight->first)
		flight->first = request;
	flight->found++;
}

/* One entry, or on to the next place of the table. */
static long uring_table_step(__u32 i, void *context)
{
	struct uring_flight *flight = context;
	struct hlist_node___uring *node = (void *)flight->node;
	struct io_hash_bucket___uring *bucket = (void *)flight->buckets;

	if (node) {
		uring_found(flight, (__u64)node - bpf_core_field_offset(struct io_kiocb___uring,
									hash_node));
		flight->node = (__u64)BPF_CORE_READ(node, next);
		return 0;
	}
	if (!flight->left)
		return 1;
	flight->left--;
	flight->node = (__u64)BPF_CORE_READ(bucket, list.first);
	flight->buckets += bpf_core_type_size(struct io_hash_bucket___uring);
	return 0;
}

static __always_inline void uring_look_into(struct uring_flight *flight, __u64 buckets, __u32 bits)
{
	if (!buckets || bits > 10)
		return;
	flight->buckets = buckets;
	flight->left = 1u << bits;
	flight->node = 0;
	bpf_loop(URING_FLIGHT_MAX, uring_table_step, flight, 0);
}

static long uring_timeouts_step(__u32 i, void *context)
{
	struct uring_flight *flight = context;
	struct list_head___uring *node = (void *)flight->node;
	__u64 end = flight->ring + bpf_core_field_offset(struct io_ring_ctx___uring, timeout_list);

	if (!node || (__u64)node == end)
		return 1;
	/* the record of the operation lies where the entry's file does */
	uring_found(flight, (__u64)node - bpf_core_field_offset(struct io_timeout___uring, list) -
				    bpf_core_field_offset(struct io_kiocb___uring, file));
	flight->node = (__u64)BPF_CORE_READ(node, next);
	return 0;
}

/*
 * Of what a ring waits for until it is ready (a socket, a pipe, a time), the entry that is found
 * first; 0: there is none. *count: all of them, at most URING_FLIGHTS_MAX. What workers do, and
 * disks, is not among them.
 */
static __noinline __u64 uring_in_flight(__u64 of_ring, __u32 *count)
{
	struct io_ring_ctx___uring *ring = (void *)of_ring;
	struct uring_flight flight = {.ring = of_ring};

	if (!uring_is_known() || !of_ring)
		return 0;
	uring_look_into(&flight, (__u64)BPF_CORE_READ(ring, cancel_table.hbs),
			BPF_CORE_READ(ring, cancel_table.hash_bits));
	if (bpf_core_field_exists(ring->cancel_table_locked))
		uring_look_into(&flight, (__u64)BPF_CORE_READ(ring, cancel_table_locked.hbs),
				BPF_CORE_READ(ring, cancel_table_locked.hash_bits));
	flight.node = (__u64)BPF_CORE_READ(ring, timeout_list.next);
	bpf_loop(URING_LIST_MAX, uring_timeouts_step, &flight, 0);
	*count = flight.found < URING_FLIGHTS_MAX ? flight.found : URING_FLIGHTS_MAX;
	return flight.first;
}

/* -- as an object ------------------------------------------------------------------------------ */

/* The file that an entry has opened: the thread has its number, but does not know it yet. */
static __always_inline __u64 uring_opened(struct task_struct *task,
					  struct io_kiocb___uring *request)
{
	struct io_open___uring *open =
		(void *)request + bpf_core_field_offset(struct io_kiocb___uring, file);
	__s32 fd = BPF_CORE_READ(request, cqe.res);

	/* one of the ring's own files has a place, and no number */
	if (fd < 0 || BPF_CORE_READ(open, file_slot))
		return 0;
	return (__u64)descriptor_of_number(task, fd);
}

/*
 * The file of an entry of a task, with URING_DONE or without; 0: it has none. *what: as
 * object_number() wants it; 0: nothing is known. in_flight: how many are, of which this is one; 0:
 * it has ended the wait, or is worked on. Apart, as what comes behind it needs the whole stack.
 */
static __noinline __u64 uring_look_at(struct task_struct *task, __u64 entry, __u32 in_flight,
				      __u64 *what)
{
	struct io_kiocb___uring *request = (void *)(entry & ~URING_DONE);
	__u8 operation, descriptor;
	__u32 fd = POLL_NO_NUMBER;
	__u64 file;

	*what = 0;
	if (!uring_is_known() || !entry)
		return 0;
	operation = BPF_CORE_READ(request, opcode);
	file = (__u64)BPF_CORE_READ(request, file);
	if (operation == URING_OPERATION_OPENAT || operation == URING_OPERATION_OPENAT2)
		file = entry & URING_DONE ? uring_opened(task, request) : 0;
	*what = (__u64)(__u8)(operation + 1) << OBJECT_OPERATION_AT |
		(__u64)in_flight << OBJECT_IN_FLIGHT_AT;
	if (!file)
		return 0;
	descriptor = descriptor_of_file(file);
	if (!object_has_path(descriptor) && !object_is_socket(descriptor))
		fd = poll_number(task, file, 0);
	*what |= (__u64)descriptor << OBJECT_DESCRIPTOR_AT | fd;
	return file;
}

/* The object of an entry, as uring_look_at(); 0: not known. */
static __always_inline __u32 uring_object(struct task_struct *task, __u64 entry, __u32 in_flight)
{
	struct task_struct___object *more = (void *)task;
	__u64 what, file = uring_look_at(task, entry, in_flight, &what);

	if (!what)
		return 0;
	return object_number((__u64)BPF_CORE_READ(more, fs), file, what, SCHED_OBJECT,
			     file ? task->tgid : 0);
}

/*
 * The object that ends the wait of a task for the ring that a file is of, as uring_ended_by(); 0:
 * not known.
 */
static __always_inline __u32 uring_ready(struct task_struct *task, __u64 file, bool by_thread)
{
	struct task_struct___uring *more = (void *)task;

	if (!uring_is_known())
		return 0;
	return uring_object(task,
			    uring_ended_by((__u64)BPF_CORE_READ(more, io_uring),
					   uring_of_file(file), by_thread),
			    0);
}

#endif
