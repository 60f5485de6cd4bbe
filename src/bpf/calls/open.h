/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_OPEN_H
#define BPF_CALLS_OPEN_H

/*
 * What is still open, or not sent, when nothing is probed any more: user space reads it by
 * iterators over all tasks (src/sources/calls/open.c).
 */

#include "bpf/calls/goroutines.h"

struct open_loop {
	struct seq_file *to;
	struct calls_thread *thread;
	__u64 now;
	__u32 lane, number, depth;
};

/* For bpf_loop(): writes the open call with that number, and goes on to the one that made it. */
static long write_open(__u32 i, void *context)
{
	struct open_loop *loop = context;
	struct calls_thread *t = loop->thread;
	struct calls_frame *frame = frame_at(t, loop->number);
	struct calls_record record = {};

	if (!frame)
		return 1;
	loop->depth--;
	loop->number = frame->below;
	if (frame->flags & FRAME_HIDDEN ||
	    (loop->now - frame->start < calls_shortest && !calls_entries))
		return 0;
	fill_call(&record, t, frame, CAPTURE_CALL, loop->now, loop->lane, loop->depth,
		  end_flags(frame, CALLS_OPEN));
	bpf_seq_write(loop->to, &record, sizeof(record));
	return 0;
}

/* What of a thread has not been sent: nothing there is changed, since the kernel may ask twice. */
static __always_inline void write_thread(struct seq_file *to, struct calls_thread *t,
					 struct task_struct *task)
{
	struct open_loop loop = {.to = to, .thread = t, .now = capture_now()};
	struct calls_track track = {};
	__u32 i;

	for (i = 0; i < CALLS_LANES; i++) {
		if (!t->lane_at[i].top && !(t->mentioned & 1 << i))
			continue;
		fill_track(&track, t, task, i);
		bpf_seq_write(to, &track, sizeof(track));
	}
	for (i = 0; i < BATCH_RECORDS; i++)
		if (i < t->batched)
			bpf_seq_write(to, &t->batch.at[i], sizeof(t->batch.at[i]));
	for (i = 0; i < CALLS_LANES; i++) {
		loop.lane = i;
		loop.number = t->lane_at[i].top;
		loop.depth = t->lane_at[i].depth;
		bpf_loop(CALLS_FRAMES_MAX, write_open, &loop, 0);
	}
}

/* The kernel hands out no more with the calls of one task. */
#define OPEN_BYTES_MAX 30000u

struct open_goroutines_loop {
	struct seq_file *to;
	struct task_struct *task;
	__u32 bytes;
};

/* For bpf_for_each_map_elem() */
static long write_goroutine(struct bpf_map *map, const void *key, struct calls_thread *t,
			    struct open_goroutines_loop *loop)
{
	const struct goroutine_key *which = key;
	__u32 records = t->batched + t->lane_at[0].depth;

	if (which->pid != (__u32)loop->task->tgid || !records)
		return 0;
	loop->bytes += sizeof(struct calls_track) + records * sizeof(struct calls_record);
	if (loop->bytes > OPEN_BYTES_MAX)
		count_lost(CAPTURE_LOSS_CALL_RING_FULL, records);
	else
		write_thread(loop->to, t, loop->task);
	return 0;
}

/* Read by user space once, when nothing is probed any more: what is still open, or not sent. */
SEC("iter/task")
int calls_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct calls_thread *t;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&calls_threads, task, NULL, 0);
	if (t)
		write_thread(ctx->meta->seq, t, task);
	return 0;
}

/*
 * The same for goroutines: they hang on no task, so the first thread of the process stands for
 * them.
 */
SEC("iter/task")
int calls_open_go(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct open_goroutines_loop loop = {.to = ctx->meta->seq};

	if (!task || !calls_goroutines_seen || task->pid != task->tgid)
		return 0;
	loop.task = task;
	bpf_for_each_map_elem(&calls_goroutines, write_goroutine, &loop, 0);
	return 0;
}

#endif
