/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_THREAD_H
#define BPF_CALLS_THREAD_H

/* What the function tracer keeps of a thread, and how its records leave. */

#include "capture.h"
#include "calls_abi.h"

/* Set before loading. */
const volatile bool calls_summary; /* sum up in the kernel, send no records */
const volatile bool calls_entries; /* send a record at each entry too, and all without delay */

struct calls_frame {
	__u64 sp, start;
	__u64 waited;	  /* by the thread, when it began */
	__u64 children;	  /* ns in calls made from this one */
	__u64 ip;	  /* of its entry probe */
	__u64 returns_to; /* FRAME_INFERRED: its return address when it began */
	__u32 function;
	__u16 below; /* the open call that made this one: its number in frames, 0: none */
	__u16 flags; /* of enum frame_flag */
};

enum frame_flag {
	FRAME_INFERRED = 1,
	FRAME_RECURSIVE = 2,
	FRAME_UNDER = 4,
	FRAME_HIDDEN = 8,
	FRAME_RETURN = 16,  /* the kernel will tell its return: it has changed the return address */
	FRAME_UNKNOWN = 32, /* CALLS_UNKNOWN */
};

enum lane_kind {
	LANE_OWN,     /* the thread's stack */
	LANE_SIGNAL,  /* its alternate signal stack */
	LANE_OTHER,   /* another one: a coroutine's */
	LANE_UNKNOWN, /* not yet known which of these */
};

struct calls_lane {
	__u64 low, high; /* the memory that the stack lies in */
	__u16 top;	 /* number of the innermost open call; 0: none */
	__u16 depth;	 /* how many are open */
	__u16 under;	 /* how many of them are FRAME_UNDER */
	__u16 returns;	 /* how many of them are FRAME_RETURN */
	__u64 kind;	 /* enum lane_kind */
};

enum thread_state {
	THREAD_NEW,
	THREAD_WANTED,
	THREAD_ASK, /* user space has yet to say whether this process is meant */
	THREAD_OFF, /* it is not */
};

/*
 * Records wait in the thread until there are this many, or for this long, or until it leaves its
 * CPU.
 */
#define BATCH_RECORDS 16
#define BATCH_NS      100000000ull

/* Frames are numbered from 1, so that 0 is none. */
struct calls_thread {
	__u64 waited, left; /* ns on no CPU so far; when it left its CPU, 0: it runs */
	__u64 batch_since;  /* when the first record of the batch was put there */
	__u32 track;
	__u8 state; /* enum thread_state */
	__u8 lane, lanes;
	__u8 no_return; /* on this lane, the kernel must not be asked for returns */
	__u8 lost;	/* records since the last one that was sent */
	__u8 announced; /* bit for each lane: its track was sent; */
	__u8 mentioned; /* the batch has its records */
	__u8 batching;	/* a record is being written: it cannot be sent now */
	__u16 batched;
	__u16 free, used; /* frames given back; frames ever used */
	__u16 unwoken;	  /* records since user space was woken */
	__u64 goroutine;  /* address of its g; 0: it is a thread */
	__u64 sp_bias;	  /* what is to be added to stack pointers here to get the thread's own */
	__u64 stack_end;  /* of a goroutine: where its stack ended when last seen */
	__u32 exec_id;	  /* of the program that made the calls, */
	char comm[16];	  /* and its name: records are sent when there is a new one already */
	struct calls_lane lane_at[CALLS_LANES];
	struct calls_batch {
		struct capture_head head;
		struct calls_record at[BATCH_RECORDS];
	} batch;
	__u8 open[64]; /* open calls by a hash of their function */
	struct calls_frame frames[CALLS_FRAMES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct calls_thread);
} calls_threads SEC(".maps");

static __always_inline struct calls_frame *frame_at(struct calls_thread *t, __u64 n)
{
	n--;
	if (n >= CALLS_FRAMES_MAX)
		return NULL;
	/* or the compiler makes the address before it looks whether there is one */
	asm volatile("" : "+r"(n));
	return &t->frames[n];
}

static __always_inline struct calls_lane *lane_at(struct calls_thread *t, __u64 n)
{
	/* the compiler would leave out what it knows and the verifier does not */
	asm volatile("" : "+r"(n));
	return &t->lane_at[n & (CALLS_LANES - 1)];
}

static __always_inline struct calls_lane *lane_now(struct calls_thread *t)
{
	return &t->lane_at[t->lane & (CALLS_LANES - 1)];
}

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
