/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_KEPT_H
#define BPF_CALLS_KEPT_H

/*
 * What the function tracer keeps of threads and goroutines. Its maps are weak: inspect finds the
 * call there whose arguments it takes (trace --args).
 */

#include "bpf/kernel.h"
#include "bpf/calls/abi.h"

struct calls_frame {
	__u64 sp, start;
	__u64 waited;	  /* by the thread, when it began */
	__u64 children;	  /* ns in calls made from this one */
	__u64 ip;	  /* of its entry probe */
	__u64 returns_to; /* its return address when it began; 0: it could not be read */
	__u64 result_at;  /* FRAME_RESULT_AT: rdi when it began (INSPECT_RESULT) */
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
	FRAME_RESULT_AT = 64,
	FRAME_JUMPED = 128, /* it has jumped to another function, and is FRAME_INFERRED */
	FRAME_JOINED = 256, /* to the one that was called next on its stack, with which it ends */
	FRAME_PARTLY = 512, /* not all calls of its function are kept */
	FRAME_MAY_LEAVE = 1024, /* it may have jumped, unseen */
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

/*
 * Frames are numbered from 1, so that 0 is none. The first ones lie in the state of the thread,
 * which is as large as task storage may be; those that deep recursion needs lie in parts.
 */
#define FRAMES_NEAR 96
#define FRAMES_PART 64
#define PARTS_MAX   ((CALLS_FRAMES_MAX - FRAMES_NEAR + FRAMES_PART - 1) / FRAMES_PART)

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
	struct calls_frame frames[FRAMES_NEAR];
};
_Static_assert(sizeof(struct calls_thread) <= TASK_STORAGE_MAX, "task storage refuses it");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct calls_thread);
} calls_threads SEC(".maps") __weak;

struct calls_part_key {
	__u32 track; /* calls_thread.track: of a thread or a goroutine */
	__u32 part;
};

struct calls_part {
	struct calls_frame frames[FRAMES_PART];
};

/* A part stays until its thread, goroutine or program ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CALLS_PARTS_MAX);
	__type(key, struct calls_part_key);
	__type(value, struct calls_part);
} calls_parts SEC(".maps") __weak;

/* far: the number of the frame, less 1 and those that are near. */
static __noinline struct calls_frame *find_far(struct calls_thread *t, __u64 far)
{
	struct calls_part_key key = {t->track, far / FRAMES_PART};
	struct calls_part *part = bpf_map_lookup_elem(&calls_parts, &key);

	return part ? &part->frames[far % FRAMES_PART] : NULL;
}

/* Null: there is no such frame. */
static __always_inline struct calls_frame *frame_at(struct calls_thread *t, __u64 n)
{
	n--;
	if (rarely(n >= FRAMES_NEAR))
		return n < CALLS_FRAMES_MAX ? find_far(t, n - FRAMES_NEAR) : NULL;
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

struct goroutine_key {
	__u64 g;
	__u32 pid, exec_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CALLS_GOROUTINES_MAX);
	__type(key, struct goroutine_key);
	__type(value, struct calls_thread);
} calls_goroutines SEC(".maps") __weak;

/*
 * Stack pointers of goroutines are this far from zero, less their distance from the stack's upper
 * end.
 */
#define GOROUTINE_STACK (1ull << 40)

static __always_inline struct goroutine_key goroutine_key(__u64 g)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (struct goroutine_key){
		.g = g,
		.pid = task->tgid,
		.exec_id = (__u32)task->self_exec_id,
	};
}

#endif
