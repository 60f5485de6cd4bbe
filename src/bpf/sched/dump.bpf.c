// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dump: all threads at one moment, from the list of tasks. Nothing is stopped: user space reads
 * the memory of a thread that does not run, and asks afterwards whether it has run meanwhile.
 */
#include "bpf/sched/listing.h"
#include "bpf/sched/off_cpu_evidence.h"
#include "bpf/sched/dump_abi.h"

/* enum dump_listing: what the list is for. Set before each reading, */
__u32 dump_listing;
/* with the number of the round, from 1. */
__u32 dump_round;

/* What is known of a thread between two readings. */
struct dump_known {
	__u64 switches; /* when it was listed; counted before each of them */
	__u32 round;	/* in which that was */
	bool is_done;	/* it was found to be still */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct dump_known);
} dump_known SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq___dump {
	__u64 clock, clock_task;
};

struct cfs_rq___dump {
	struct rq___dump *rq;
};

struct sched_entity___dump {
	__u64 exec_start;
	struct cfs_rq___dump *cfs_rq;
};

struct task_struct___dump {
	struct sched_entity___dump se;
	unsigned int __state;
	unsigned int on_cpu; /* a byte since 7.2: libbpf fits loads of unsigned members only */
	unsigned long nvcsw, nivcsw;
};

#pragma clang attribute pop

/*
 * How long it has not run. The scheduler noted when it last accounted for the thread, by the clock
 * of the thread's CPU, which lacks the time of interrupts and what a hypervisor gave to others.
 * What it lacked until now is known, and not what it lacked then: the answer is too short by the
 * difference. The clock of this CPU is at most a tick old.
 */
static __always_inline __u64 time_since_run(struct task_struct *task)
{
	struct task_struct___dump *here = (void *)bpf_get_current_task_btf();
	struct task_struct___dump *there = (void *)task;
	__u64 last = there->se.exec_start, now;

	if (!last || !bpf_core_field_exists(there->se.cfs_rq))
		return 0;
	now = here->se.cfs_rq->rq->clock -
	      (there->se.cfs_rq->rq->clock - there->se.cfs_rq->rq->clock_task);
	return now > last ? now - last : 1;
}

static __always_inline void list(struct seq_file *seq, struct task_struct *task,
				 enum filter_answer answer)
{
	struct task_struct___dump *more = (void *)task;
	struct capture_scratch *scratch;
	struct dump_known *known;
	struct dump_thread *thread;
	bool runs;

	if (!listing_has_room(seq))
		return;
	known = bpf_task_storage_get(&dump_known, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!known) {
		capture_count_loss(CAPTURE_SOURCE_DUMP, CAPTURE_LOSS_DUMP_NO_MEMORY);
		return;
	}
	if (known->is_done)
		return;
	scratch = capture_begin(CAPTURE_SOURCE_DUMP, CAPTURE_WALKER_NONE);
	if (!scratch)
		return;
	known->switches = more->nvcsw + more->nivcsw;
	barrier();
	/* what runs has no frames, and is not checked */
	runs = more->on_cpu != 0;
	known->round = runs ? 0 : dump_round;
	listing_begin(scratch, task, DUMP_THREAD, !runs, bpf_ktime_get_ns());
	if (dump_listing == DUMP_LIST_LAST && scratch->record.has_user) {
		scratch->record.handed_over = 0;
		scratch->record.end = UNWIND_END_RAN;
	}
	scratch->record.identity.undecided = answer == FILTER_ASK;
	thread = listing_place(scratch);
	__builtin_memset(thread, 0, sizeof(*thread));
	read_evidence(&thread->wait, scratch, task);
	thread->wait.state = more->__state;
	thread->since = time_since_run(task);
	thread->runs = runs;
	listing_write(seq, scratch, task, DUMP_THREAD_WORDS);
	capture_end(scratch);
}

static __always_inline void check(struct seq_file *seq, struct task_struct *task)
{
	struct dump_known *known = bpf_task_storage_get(&dump_known, task, 0, 0);
	struct task_struct___dump *more = (void *)task;
	struct dump_check answer = {};

	if (!known || known->is_done || known->round != dump_round || !listing_has_room(seq))
		return;
	/* in this order: it may be switched out between the two, which is counted before */
	known->is_done = !more->on_cpu;
	barrier();
	if (known->switches != more->nvcsw + more->nivcsw)
		known->is_done = false;
	answer.head.kind = DUMP_CHECK;
	answer.head.size = sizeof(answer);
	answer.thread_start = task->start_time;
	answer.tid = task->pid;
	answer.is_still = known->is_done;
	bpf_seq_write(seq, &answer, sizeof(answer));
}

SEC("iter/task")
int dump_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	enum filter_answer answer;

	if (!task || !task->pid ||
	    ((struct task_struct___dump *)task)->__state & OFF_CPU_STATE_DEAD)
		return 0;
	answer = filter_other(task);
	if (answer == FILTER_NO)
		return 0;
	if (dump_listing == DUMP_LIST_CHECK)
		check(ctx->meta->seq, task);
	else
		list(ctx->meta->seq, task, answer);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
