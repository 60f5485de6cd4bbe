/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_MAPS_H
#define BPF_CAPTURE_MAPS_H

/*
 * The memory of what takes stacks (capture.h). The maps are weak, so that all objects that include
 * this share one set of tables, rings and scratch memory once linked.
 */

#include "bpf/kernel.h"
#include "bpf/capture/abi.h"
#include "bpf/unwind/rule_cache.h"
#include "bpf/unwind/walk.h"

/*
 * Entries of capture_copy_map, and for how many CPUs capture_scratch_map has any; set before
 * loading.
 */
const volatile __u32 capture_copies __weak = 1;
const volatile __u32 capture_cpus __weak = 1;

/* A chunk of the pool of unwind tables (unwind/abi.h). */
struct unwind_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_CHUNK_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_CHUNKS_MAX);
	__uint(key_size, sizeof(__u32));
	__array(values, struct unwind_chunk_map);
} unwind_chunks SEC(".maps") __weak;

struct unwind_rule_table {
	struct unwind_rule rules[UNWIND_RULES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_rule_table);
} unwind_rule_map SEC(".maps") __weak;

/* What is known of a process, by pid. */
struct space_value {
	struct unwind_space space;
	__u32 patience; /* how often more its unknown mappings are handed to user space */
	__u32 outdated; /* something is mapped where they show code (mappings.bpf.c), */
	__u32 doubted;	/* or where they show code that a runtime has made */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct space_value);
} unwind_spaces SEC(".maps") __weak;

/* One ring per CPU: rings that share nothing need no lock between CPUs. */
struct capture_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__array(values, struct capture_ring_map);
} capture_rings SEC(".maps") __weak;

/* Bytes of a ring that each source may fill; set before loading, if there is more than one. */
const volatile bool capture_shared __weak;
const volatile __u32 capture_shares[CAPTURE_SOURCE_COUNT] __weak;

/*
 * What a source has in the ring of a CPU, at most: what it has put there since mark, and before
 * that.
 */
struct capture_budget {
	/* a position in the ring: once user space is there, it has taken all from before */
	__u64 mark;
	__u32 before, since; /* bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SOURCE_COUNT);
	__type(key, __u32);
	__type(value, struct capture_budget);
} capture_budgets SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SOURCE_COUNT *CAPTURE_LOSS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} capture_losses SEC(".maps") __weak;

#define CAPTURE_FRAMES_MAX (UNWIND_FRAMES_MAX + CAPTURE_KERNEL_FRAMES_MAX + 1)

/*
 * Memory for one stack in the making. A probe can be interrupted by another one on the same CPU
 * (a sample inside a uprobe), so each CPU has several, and a probe claims one for itself.
 */
#define CAPTURE_WINDOW_WORDS 64
#define CAPTURE_WINDOW_BYTES (CAPTURE_WINDOW_WORDS * 8u)

/* The most that is read through it at once. */
#define CAPTURE_READ_WORDS 12

/*
 * What a walk has read of the thread's memory: as long as that, the registers and the tables are
 * the same, another walk finds the same frames (as_before.h).
 */
#define CAPTURE_MEMORY_WORDS 512
#define CAPTURE_NOTES_MAX    128
#define CAPTURE_NOTES_SPOILT (CAPTURE_NOTES_MAX + 1)

struct capture_notes {
	__u32 wanted; /* reads are noted */
	/* CAPTURE_NOTES_SPOILT: there was no room, or something else was read, too */
	__u32 count;
	__u64 found;	 /* bits: the kernel's frames that its stack has */
	__u32 own;	 /* of these, how many are the scheduler's, and what it has called */
	__u64 registers; /* where the thread has saved those that it entered the kernel with */
	__u64 at[CAPTURE_NOTES_MAX], value[CAPTURE_NOTES_MAX];
	__u64 memory[CAPTURE_MEMORY_WORDS]; /* what is there now, to compare it with */
};

/* The most words behind the frames of a record that capture_walk() sends. */
#define CAPTURE_BEHIND_WORDS 80

struct capture_scratch {
	__u64 owner; /* capture_owner() of the thread that has claimed it; 0: free */
	__u32 slot;  /* which one of its CPU it is */
	__u32 cpu;   /* whose entries it uses, of maps with capture_cpus of them */
	/* What becomes of the walk, in the same line of the cache: */
	__u32 walks;	/* whether there is one, and how far it is: enum capture_stage */
	__u32 done;	/* what follows: enum capture_done */
	__u32 result;	/* of the program, at last */
	__u32 argument; /* what it means is up to what follows */
	/* where it is just sent: of the kernel's frames, at most, and of the words behind */
	__u32 kernel_frames, behind_words;
	struct probe_regs entry; /* registers with which the thread entered the kernel */
	/* A piece of the thread's stack: one read serves the frames that lie in it. */
	__u64 window_start;
	__u64 instance; /* the return instance that was found last (capture/uprobes.h); 0: none */
	__u32 expected; /* the place of the rule that is probably needed next (rule_cache.h) */
	__u64 words[2]; /* what was recalled, or is to be remembered: the stack is short */
	__u64 window[CAPTURE_WINDOW_WORDS + CAPTURE_READ_WORDS]; /* the rest is for the verifier */
	struct unwind_walk walk;
	struct capture_notes notes;
	__u64 behind[CAPTURE_BEHIND_WORDS];
	struct capture_record record;
	/* right behind the record: they are sent as one; the rest is for the verifier */
	__u64 frames[CAPTURE_FRAMES_MAX + CAPTURE_BEHIND_WORDS];
};

/*
 * CAPTURE_SCRATCHES of each CPU, in one array, since an entry is larger than a per-CPU map allows;
 * and behind them CAPTURE_SPARES for all.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_SCRATCHES + CAPTURE_SPARES);
	__type(key, __u32);
	__type(value, struct capture_scratch);
} capture_scratch_map SEC(".maps") __weak;

/*
 * Of each CPU, as is the scratch memory. Only the first stack in the making there uses it: one that
 * interrupts that one could find a place half written.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule_cache);
} capture_rule_cache_map SEC(".maps") __weak;

/* The same for handing over: CPUs share the entries where there are very many of them. */
struct capture_copy {
	__u64 busy;
	struct capture_handover handover;
	__u8 stack[CAPTURE_COPY_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_copy);
} capture_copy_map SEC(".maps") __weak;

/*
 * Tables of programs, for each of CAPTURE_WALKERS. A program goes on as the walker in entry 0, and
 * that as the one that knows the runtime whose code it meets; the record is sent by the last of
 * them, or by the program in the entry of what follows. So the kernel verifies the walk, and each
 * runtime's step, once for each place that programs are called from, and only those of runtimes
 * that processes have (attach/walkers.c).
 */
struct capture_walk_map {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, CAPTURE_WALK_ENTRIES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
};

#define X(NAME, name, section) struct capture_walk_map walk_##name SEC(".maps") __weak;
CAPTURE_WALKERS(X)
#undef X

/*
 * What a program of uprobes that walks no stack begins with: its frames are to lie on the stack of
 * the thread that it interrupts. Linux 6.13 and later may put them into memory that a CPU has for a
 * program once, its private stack, although such a program can be preempted there, and run again
 * for another thread, which then uses the same frames. A program with a tail call has no private
 * stack. This entry is empty for ever: the program goes on.
 */
#define capture_on_own_stack(ctx) bpf_tail_call(ctx, &walk_uprobe, CAPTURE_DONE_NONE)

/* The ring of this CPU, or null. */
static __always_inline void *capture_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&capture_rings, &cpu);
}

/*
 * Whether a source may put that many bytes into the ring of this CPU: a storm of one must leave the
 * others their shares. Not static, so that the verifier looks at it once.
 */
__weak __noinline int capture_may_fill(__u32 source, __u32 bytes)
{
	void *ring = capture_ring();
	struct capture_budget *budget;
	__u32 key = source, share;

	if (source >= CAPTURE_SOURCE_COUNT || !ring)
		return 0;
	share = capture_shares[source];
	budget = bpf_map_lookup_elem(&capture_budgets, &key);
	if (!budget)
		return 0;
	if (bpf_ringbuf_query(ring, BPF_RB_CONS_POS) >= budget->mark) {
		budget->before = budget->since;
		budget->since = 0;
		budget->mark = bpf_ringbuf_query(ring, BPF_RB_PROD_POS);
	}
	if (budget->before + budget->since + bytes > share)
		return 0;
	budget->since += bytes + BPF_RINGBUF_HDR_SZ;
	return 1;
}

/*
 * When the recording ends, by bpf_ktime_get_ns(); 0: not known yet. To take the probes out takes
 * its time, and user space may be late; what happens after this moment is not recorded, nor lost.
 */
__u64 capture_until __weak;

/* A clock that stands still at the end of the recording: what goes on ends there. */
static __always_inline __u64 capture_clamped(__u64 now)
{
	__u64 until = *(volatile __u64 *)&capture_until;

	return until && until < now ? until : now;
}

static __always_inline __u64 capture_now(void)
{
	return capture_clamped(bpf_ktime_get_ns());
}

/* Whether the recording has ended. The clock is read only where its end is known. */
static __always_inline bool capture_has_ended(void)
{
	__u64 until = *(volatile __u64 *)&capture_until;

	return until && until < bpf_ktime_get_ns();
}

/*
 * Puts a record of a source, which begins with its head, into the ring. Returns 0, or that there is
 * no room.
 */
static __always_inline long capture_output(void *ring, __u32 source, void *record, __u32 size,
					   __u64 flags)
{
	const struct capture_head *head = record;
	__u64 until = *(volatile __u64 *)&capture_until;

	if (until && head->time > until)
		return 0;
	if (capture_shared && !capture_may_fill(source, size))
		return -1;
	return bpf_ringbuf_output(ring, record, size, flags);
}

/* source: enum capture_source; reason: enum capture_loss */
static __always_inline void capture_count_losses(__u32 source, __u32 reason, __u64 n)
{
	__u32 at = CAPTURE_LOSS_AT(source, reason);
	__u64 *count = bpf_map_lookup_elem(&capture_losses, &at);

	if (count)
		__sync_fetch_and_add(count, n);
}

static __always_inline void capture_count_loss(__u32 source, __u32 reason)
{
	capture_count_losses(source, reason, 1);
}

/* Sends a record of a source, which begins with its head, or counts that it is lost. */
static __always_inline void capture_send_record(__u32 source, void *record, __u32 size, __u64 wake)
{
	void *ring = capture_ring();

	if (!ring)
		capture_count_loss(source, CAPTURE_LOSS_NO_RING);
	else if (capture_output(ring, source, record, size, wake))
		capture_count_loss(source, CAPTURE_LOSS_RING_FULL);
}

enum capture_stage {
	CAPTURE_STAGE_NONE, /* no user stack is wanted */
	CAPTURE_STAGE_BEGIN,
	CAPTURE_STAGE_WALKS,
};

/*
 * By what the memory that a thread has claimed is found again: a program that others interrupt, and
 * that interrupts none of its own kind in the same thread.
 */
static __always_inline __u64 capture_owner(__u32 walker)
{
	return (__u64)(walker + 1) << 32 | (__u32)bpf_get_current_pid_tgid();
}

/* Looks among the memory that belongs to no CPU for some whose owner is `from`: it is `to`'s. */
struct capture_search {
	__u64 from, to;
	__u32 first, at; /* at: where it is; 0: nowhere */
};

static long capture_spare_step(__u32 i, void *context)
{
	struct capture_search *search = context;
	__u32 at = search->first + i;
	struct capture_scratch *scratch = bpf_map_lookup_elem(&capture_scratch_map, &at);

	if (!scratch)
		return 1;
	if (scratch->owner != search->from ||
	    __sync_val_compare_and_swap(&scratch->owner, search->from, search->to) != search->from)
		return 0;
	scratch->slot = CAPTURE_SCRATCHES;
	scratch->cpu = bpf_get_smp_processor_id() % capture_cpus;
	search->at = at + 1;
	return 1;
}

/*
 * A program that can be preempted (one of uprobes) keeps its memory meanwhile, and any number of
 * threads may be that far on one CPU. Returns the number of the memory and one, 0: there is none.
 */
__weak __noinline int capture_spare(__u64 from, __u64 to)
{
	struct capture_search search = {from, to, capture_cpus * CAPTURE_SCRATCHES, 0};

	bpf_loop(CAPTURE_SPARES, capture_spare_step, &search, 0);
	return search.at;
}

/*
 * Some that is free: its number and one; 0: there is none. Not static, so that it needs no stack of
 * the program's own.
 */
__weak __noinline int capture_claim(__u32 walker)
{
	__u64 owner = capture_owner(walker);
	struct capture_scratch *scratch;
	__u32 cpu = bpf_get_smp_processor_id() % capture_cpus, i, at;

	for (i = 0; i < CAPTURE_SCRATCHES; i++) {
		at = cpu * CAPTURE_SCRATCHES + i;
		scratch = bpf_map_lookup_elem(&capture_scratch_map, &at);
		if (scratch && !__sync_val_compare_and_swap(&scratch->owner, 0, owner)) {
			scratch->slot = i;
			scratch->cpu = cpu;
			return at + 1;
		}
	}
	return 0;
}

/*
 * Claims memory for a source, in a program from which that walker is called. null: all is in use,
 * which is counted.
 */
static __always_inline struct capture_scratch *capture_begin(__u32 source, __u32 walker)
{
	__u32 at = capture_claim(walker);
	struct capture_scratch *scratch;

	/* what walks no stack soon gives it back, and has no room for this on its own stack */
	if (!at && walker != CAPTURE_WALKER_NONE)
		at = capture_spare(0, capture_owner(walker));
	at--;
	scratch = bpf_map_lookup_elem(&capture_scratch_map, &at);
	if (scratch)
		scratch->walks = CAPTURE_STAGE_NONE;
	else
		capture_count_loss(source, CAPTURE_LOSS_SCRATCH_BUSY);
	return scratch;
}

/*
 * What the program that this one goes on from has claimed. (A migration is disabled meanwhile: it
 * is the same CPU.)
 */
static __always_inline struct capture_scratch *capture_claimed(__u32 walker)
{
	__u64 owner = capture_owner(walker);
	struct capture_scratch *scratch;
	__u32 cpu = bpf_get_smp_processor_id() % capture_cpus, i, at;

	for (i = 0; i < CAPTURE_SCRATCHES; i++) {
		at = cpu * CAPTURE_SCRATCHES + i;
		scratch = bpf_map_lookup_elem(&capture_scratch_map, &at);
		if (scratch && scratch->owner == owner)
			return scratch;
	}
	at = capture_spare(owner, owner) - 1;
	return bpf_map_lookup_elem(&capture_scratch_map, &at);
}

static __always_inline void capture_end(struct capture_scratch *scratch)
{
	__sync_lock_test_and_set(&scratch->owner, 0);
}

#endif
