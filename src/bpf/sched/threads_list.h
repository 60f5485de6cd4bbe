/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_THREADS_LIST_H
#define BPF_SCHED_THREADS_LIST_H

/* All threads at one moment: the list of tasks, with what those wait for that do. */

#include "bpf/sched/listing.h"
#include "bpf/sched/uring.h"

/* The list of tasks has stacks. */
__u32 threads_list_stacks;

static __always_inline __u32 listed_object(struct task_struct *task, const struct probe_regs *regs,
					   __u8 descriptor)
{
	struct file___descriptor *file;

	if (task->flags & PF_IO_WORKER)
		return uring_object(task, uring_worked_on(task), 0, THREADS_OBJECT);
	file = descriptor_file(task, regs);
	return file ? object_of(task, file, descriptor, REGS_CALL_ARG1(regs), THREADS_OBJECT) : 0;
}

/* Of a thread that waits for entries of io_uring, one that is in flight. */
static __always_inline __u32 listed_in_flight(struct task_struct *task,
					      const struct probe_regs *regs)
{
	__u32 count = 0;
	__u64 entry;

	if (task->flags & PF_IO_WORKER || REGS_CALL(regs) != SYSCALL_IO_URING_ENTER ||
	    !(REGS_CALL_ARG4(regs) & URING_ENTER_GETEVENTS))
		return 0;
	entry = uring_in_flight(uring_of_file((__u64)descriptor_file(task, regs)), &count);
	return uring_object(task, entry, count, THREADS_OBJECT);
}

static __always_inline void list(struct seq_file *seq, struct task_struct *task,
				 struct threads_thread *thread)
{
	struct task_struct___threads *more = (void *)task;
	struct capture_scratch *scratch =
		capture_begin(CAPTURE_SOURCE_THREADS, CAPTURE_WALKER_NONE);
	struct threads_listed *listed;
	__u32 object = 0;
	bool runs;
	__u8 count;

	if (!scratch)
		return;
	count = count_of(task);
	barrier();
	runs = more->on_cpu != 0;
	listing_begin(scratch, task, THREADS_LISTED, !runs && threads_list_stacks,
		      bpf_ktime_get_ns());
	if (!runs && !threads_list_stacks && !(task->flags & PF_KTHREAD) && task->mm)
		capture_registers(scratch, task);
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	scratch->record.identity.key = thread->thread;
	scratch->record.identity.value = 1;
	listed = listing_place(scratch);
	__builtin_memset(listed, 0, sizeof(*listed));
	take_evidence(&listed->wait, scratch, task);
	if (listed->wait.descriptor)
		object = listed_object(task, &scratch->entry, listed->wait.descriptor);
	if (listed->wait.descriptor == OFF_CPU_FD_IO_URING && more->__state & OFF_CPU_STATE_SLEEPS)
		listed->ready = listed_in_flight(task, &scratch->entry);
	listed->object = object;
	listed->wait.state = more->__state;
	listed->thread = thread->thread;
	listed->runs = runs;
	listed->cpu = more->thread_info.cpu;
	listed->count = count;
	barrier();
	listed->moved = (!runs && more->on_cpu) || count_of(task) != count;
	listing_write(seq, scratch, task, THREADS_LISTED_WORDS);
	capture_end(scratch);
}

SEC("iter/task")
int threads_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct threads_thread *thread;

	if (!task || !task->pid ||
	    ((struct task_struct___threads *)task)->__state & OFF_CPU_STATE_DEAD ||
	    filter_other(task) == FILTER_NO || filter_waits_for_us(task) ||
	    !listing_has_room(ctx->meta->seq))
		return 0;
	thread = storage_of(task);
	if (!thread)
		return 0;
	/* of a process that ends the answer is forgotten: what it was counts, as in meant() */
	if (!thread->asked || !(task->flags & PF_EXITING)) {
		thread->answer = filter_other(task);
		thread->asked = bpf_ktime_get_ns();
	}
	if (thread->answer == FILTER_NO)
		return 0;
	if (!(thread->known & KNOWN_AS_MEANT))
		introduce(task, thread);
	if (thread->known & KNOWN_AS_MEANT)
		list(ctx->meta->seq, task, thread);
	return 0;
}

#endif
