/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_THREAD_H
#define BPF_CALLS_THREAD_H

/* What the function tracer keeps of a thread, and how its records leave. */

#include "bpf/capture/capture.h"
#include "bpf/calls/kept.h"

/* Set before loading. */
const volatile bool calls_summary; /* sum up in the kernel, send no records */
const volatile bool calls_entries; /* send a record at each entry too, and all without delay */

/* Of CALLS_COOKIE(). */
#define COOKIE_FUNCTION(c) ((__u32)(c) & (CALLS_FUNCTIONS_MAX - 1))
#define COOKIE_SITE(c)	   ((__u32)((c) >> 24) & 0xff)
#define COOKIE_FLAGS(c)	   ((__u32)((c) >> 32) & 0xffff)
#define COOKIE_WORDS(c)	   ((__u64)(c) >> 48)

static __always_inline void count_lost(__u32 loss, __u64 n)
{
	capture_count_losses(CAPTURE_SOURCE_CALLS, loss, n);
}

static __always_inline void fill_track(struct calls_track *record, struct calls_thread *t,
				       struct task_struct *task, __u32 lane)
{
	struct capture_identity *identity = &record->identity;

	record->head.kind = CAPTURE_TRACK;
	record->head.size = sizeof(*record);
	record->head.time = bpf_ktime_get_ns();
	record->track = t->track + lane;
	record->lane = lane;
	identity->pid = task->tgid;
	identity->tid = task->pid;
	identity->thread_start = task->start_time;
	identity->exec_id = t->exec_id;
	identity->undecided = t->state == THREAD_ASK;
	identity->key = t->goroutine;
	if (t->exec_id == (__u32)task->self_exec_id)
		bpf_probe_read_kernel(identity->comm, sizeof(identity->comm), task->comm);
	else
		__builtin_memcpy(identity->comm, t->comm, sizeof(identity->comm));
}

/* User space is woken once in this many records. */
#define RECORDS_PER_WAKE 4096

/*
 * Sends the batch of the current thread. Why there is one: a call into the ring costs as much as
 * all else that is done for a call.
 *
 * This and other functions that are not needed for most calls are not static: so the kernel's
 * verifier looks at each only once, for all arguments (null, too).
 */
__noinline int calls_send_batch(struct calls_thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id(), n, lane, unsent;
	void *ring = bpf_map_lookup_elem(&capture_rings, &cpu);
	struct calls_track track = {};
	__u64 wake = BPF_RB_NO_WAKEUP;

	if (!t)
		return 0;
	n = t->batched;
	t->batched = 0;
	unsent = t->mentioned & ~t->announced;
	t->mentioned = 0;
	if (!n)
		return 0;
	if (n > BATCH_RECORDS)
		n = BATCH_RECORDS;
	if (!ring) {
		count_lost(CAPTURE_LOSS_CALL_NO_RING, n);
		t->lost = 1;
		return 0;
	}
	if (capture_shared &&
	    !capture_may_fill(CAPTURE_SOURCE_CALLS,
			      sizeof(struct capture_head) + n * sizeof(struct calls_record)))
		goto full;
	for (lane = 0; unsent && lane < CALLS_LANES; lane++) {
		if (!(unsent & 1 << lane))
			continue;
		fill_track(&track, t, task, lane);
		if (bpf_ringbuf_output(ring, &track, sizeof(track), BPF_RB_FORCE_WAKEUP))
			goto full;
		t->announced |= 1 << lane;
	}
	t->unwoken += n;
	if (t->unwoken >= RECORDS_PER_WAKE) {
		t->unwoken = 0;
		wake = BPF_RB_FORCE_WAKEUP;
	}
	t->batch.head.kind = CAPTURE_CALLS;
	t->batch.head.size = sizeof(struct capture_head) + n * sizeof(struct calls_record);
	t->batch.head.time = bpf_ktime_get_ns();
	if (!bpf_ringbuf_output(ring, &t->batch,
				sizeof(struct capture_head) + n * sizeof(struct calls_record),
				wake))
		return 0;
full:
	count_lost(CAPTURE_LOSS_CALL_RING_FULL, n);
	t->lost = 1;
	return 0;
}

static __always_inline void fill_call(struct calls_record *record, const struct calls_thread *t,
				      const struct calls_frame *frame, __u32 kind, __u64 time,
				      __u32 lane, __u32 depth, __u32 flags)
{
	record->head.kind = kind;
	record->head.size = sizeof(*record);
	record->head.time = time;
	record->track = t->track + lane;
	record->function = frame->function;
	record->start = frame->start;
	record->waited = t->waited - frame->waited;
	record->depth = depth;
	record->cpu = bpf_get_smp_processor_id();
	record->flags = flags | (frame->flags & FRAME_UNKNOWN ? CALLS_UNKNOWN : 0);
}

/*
 * Keeps what is known of one call for the ring. The thread can be preempted anywhere in here, and
 * is sent then what is finished.
 */
static __always_inline void send_call(struct calls_thread *t, __u32 kind, __u64 time,
				      const struct calls_frame *frame, __u32 depth, __u32 flags)
{
	__u64 n;

	t->batching = 1;
	barrier();
	n = t->batched;
	if (n >= BATCH_RECORDS)
		n = 0;
	asm volatile("" : "+r"(n));
	if (!n)
		t->batch_since = time;
	fill_call(&t->batch.at[n], t, frame, kind, time, t->lane, depth,
		  flags | (t->lost ? CALLS_GAP : 0));
	t->mentioned |= 1 << (t->lane & (CALLS_LANES - 1));
	t->lost = 0;
	n++;
	t->batched = n;
	if (n >= BATCH_RECORDS || calls_entries || time - t->batch_since > BATCH_NS)
		calls_send_batch(t);
	barrier();
	t->batching = 0;
}

#endif
