/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_LISTING_H
#define BPF_SCHED_LISTING_H

/*
 * Threads other than the current one: what the list of tasks writes about them. Their memory is not
 * the current thread's, so user space walks their stacks, from the registers that go before each
 * record.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/sched/off_cpu_evidence.h"

/* The most words that stand behind the frames of a record. */
#define LISTING_WORDS_MAX 32

/* The most bytes that are written about a thread. */
#define LISTING_MAX                                                        \
	(sizeof(struct capture_handover) + sizeof(struct capture_record) + \
	 (CAPTURE_KERNEL_FRAMES_MAX + LISTING_WORDS_MAX) * sizeof(__u64))

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_handover);
} listing_from SEC(".maps") __weak;

struct listing_piece {
	__u8 bytes[LISTING_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct listing_piece);
} listing_pieces SEC(".maps") __weak;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file___listing {
	unsigned long size, count;
};

#pragma clang attribute pop

/* filter_current() for another thread than the current one. */
static __always_inline enum filter_answer filter_other(struct task_struct *task)
{
	__u32 key = filter_by_thread ? task->pid : task->tgid;
	enum filter_answer answer;

	if (filter_is_decided(key, &answer))
		return answer;
	return filter_ask || filter_cgroup_count ? FILTER_ASK : FILTER_NO;
}

/*
 * What a reading of the list has no room for is asked for again. That must be known before anything
 * is changed: a piece that is too large by itself says so.
 */
static __always_inline bool listing_has_room(struct seq_file *seq)
{
	struct seq_file___listing *more = (void *)seq;
	__u32 zero = 0;
	void *piece;

	if (more->count + LISTING_MAX <= more->size)
		return true;
	piece = bpf_map_lookup_elem(&listing_pieces, &zero);
	if (piece)
		bpf_seq_write(seq, piece, LISTING_MAX);
	return false;
}

/*
 * Begins the record of a thread that does not run: its registers, and the kernel's frames. with: it
 * has a stack; else only its names.
 */
static __always_inline void listing_begin(struct capture_scratch *scratch, struct task_struct *task,
					  __u32 kind, bool with, __u64 now)
{
	struct capture_record *record = &scratch->record;
	struct capture_identity *identity = &record->identity;
	long bytes = 0;

	capture_blank(record, kind, task);
	record->head.time = now;
	identity->pid = task->tgid;
	identity->tid = task->pid;
	bpf_probe_read_kernel(identity->comm, sizeof(identity->comm), task->comm);
	evidence_begin(scratch);
	if (!with)
		return;
	if (!(task->flags & PF_KTHREAD) && task->mm && capture_registers(scratch, task) &&
	    want_user) {
		record->has_user = record->handed_over = 1;
		record->end = UNWIND_END_LATER;
	}
	if (want_kernel)
		bytes = bpf_get_task_stack(task, scratch->frames,
					   CAPTURE_KERNEL_FRAMES_MAX * sizeof(__u64), 0);
	if (bytes > 0)
		record->kernel_frames = bytes / sizeof(__u64);
}

/* Where what else is known of the thread goes, behind the frames. */
static __always_inline void *listing_place(struct capture_scratch *scratch)
{
	__u32 frames = scratch->record.kernel_frames;

	OPAQUE(frames);
	return &scratch->frames[frames & CAPTURE_KERNEL_FRAMES_MAX]; /* a power of two, less one */
}

/* Writes the record and that many words behind it, and before it where its walk begins. */
static __always_inline void listing_write(struct seq_file *seq, struct capture_scratch *scratch,
					  struct task_struct *task, __u32 words)
{
	struct capture_record *record = &scratch->record;
	__u32 frames = record->kernel_frames, zero = 0, size;
	struct capture_handover *from = bpf_map_lookup_elem(&listing_from, &zero);

	if (!from)
		return;
	OPAQUE(frames);
	frames &= CAPTURE_KERNEL_FRAMES_MAX;
	size = sizeof(*record) + (frames + words) * sizeof(__u64);
	record->head.size = size;
	from->head.kind = CAPTURE_HANDOVER;
	from->head.size = sizeof(*from);
	from->head.time = record->head.time;
	from->tid = record->identity.tid;
	capture_walk_begin(&scratch->walk, task);
	capture_set_walk(from, &scratch->walk);
	bpf_seq_write(seq, from, sizeof(*from));
	bpf_seq_write(seq, record, size);
}

#endif
