/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_H
#define BPF_CAPTURE_H

/*
 * Takes the stack of the current thread: what every probe calls. The maps are weak, so that all
 * objects that include this share one set of tables, rings and scratch memory once linked.
 */

#include "kernel.h"
#include "capture_abi.h"
#include "unwind.h"

/* What of a stack is wanted; set before loading. */
const volatile bool want_user __weak = true;
const volatile bool want_kernel __weak = true;
/* Entries of capture_copy_map; set before loading. */
const volatile __u32 capture_copies __weak = 1;

/* A chunk of the pool of unwind tables (unwind_abi.h). */
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
	__u32 outdated; /* something is mapped where they show code (mappings.bpf.c) */
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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_LOSS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} capture_losses SEC(".maps") __weak;

#define CAPTURE_FRAMES_MAX (UNWIND_FRAMES_MAX + CAPTURE_KERNEL_FRAMES_MAX + 1)

/*
 * Memory for one stack in the making. A probe can be interrupted by another one on the same CPU
 * (a sample inside a uprobe), so each CPU has several, and a probe claims one for itself.
 */
#define CAPTURE_WINDOW_WORDS 32

struct capture_scratch {
	__u64 busy;
	struct probe_regs entry; /* registers with which the thread entered the kernel */
	/* A piece of the thread's stack: one read of it serves the frames that lie in it. */
	__u64 window_start;
	__u64 window[CAPTURE_WINDOW_WORDS + 1];
	struct unwind_walk walk;
	struct capture_record record;
	__u64 frames[CAPTURE_FRAMES_MAX]; /* right behind the record: they are sent as one */
};

#define CAPTURE_SCRATCHES 3

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SCRATCHES);
	__type(key, __u32);
	__type(value, struct capture_scratch);
} capture_scratch_map SEC(".maps") __weak;

/*
 * The same for handing over: too large for a per-CPU map, so an array whose entries CPUs share where
 * there are very many.
 */
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

static __always_inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n)
{
	void *inner = bpf_map_lookup_elem(&unwind_chunks, &n);
	__u32 zero = 0;

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

static __always_inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w)
{
	struct unwind_rule_table *table;
	__u32 zero = 0;

	table = bpf_map_lookup_elem(&unwind_rule_map, &zero);
	return table ? table->rules : NULL;
}

static __always_inline void capture_count_loss(__u32 loss)
{
	__u64 *count = bpf_map_lookup_elem(&capture_losses, &loss);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/*
 * One or two words are read through the window: calling the kernel for each frame would take a third
 * of the time of a walk. (size is known when this is compiled.)
 */
static __always_inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size,
					__u64 address)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);
	__u64 offset = address - s->window_start;
	__u32 word;

	if (size > 2 * sizeof(__u64) || address & 7)
		goto directly;
	if (offset > CAPTURE_WINDOW_WORDS * sizeof(__u64) - 2 * sizeof(__u64)) {
		/* a read that fails leaves zeros */
		s->window_start = ~0ull;
		if (bpf_probe_read_user(s->window, CAPTURE_WINDOW_WORDS * sizeof(__u64),
					(const void *)address))
			goto directly;
		s->window_start = address;
		offset = 0;
	}
	word = (offset >> 3) & (CAPTURE_WINDOW_WORDS - 1);
	((__u64 *)to)[0] = s->window[word];
	if (size == 2 * sizeof(__u64))
		((__u64 *)to)[1] = s->window[word + 1];
	return 0;
directly:
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* Claims memory of this CPU; null: all is in use by probes that this one interrupted. */
static __always_inline struct capture_scratch *capture_begin(void)
{
	struct capture_scratch *scratch;
	__u32 i, slot;

	for (i = 0; i < CAPTURE_SCRATCHES; i++) {
		slot = i;
		scratch = bpf_map_lookup_elem(&capture_scratch_map, &slot);
		if (scratch && !__sync_val_compare_and_swap(&scratch->busy, 0, 1))
			return scratch;
	}
	capture_count_loss(CAPTURE_LOSS_SCRATCH_BUSY);
	return NULL;
}

static __always_inline void capture_end(struct capture_scratch *scratch)
{
	__sync_lock_test_and_set(&scratch->busy, 0);
}

/*
 * The registers with which the current thread left user mode, by a system call, a fault or the very
 * interrupt that this probe runs in: the kernel keeps them at the top of the thread's kernel stack.
 * False: they cannot be had.
 */
static __always_inline bool capture_registers(struct capture_scratch *scratch,
					      struct task_struct *task)
{
	struct probe_regs *regs = &scratch->entry;
	struct unwind_walk *w = &scratch->walk;

	if (bpf_probe_read_kernel(regs, sizeof(*regs), (void *)bpf_task_pt_regs(task)))
		return false;
	w->registers[0] = regs->ax;
	w->registers[1] = regs->dx;
	w->registers[2] = regs->cx;
	w->registers[3] = regs->bx;
	w->registers[4] = regs->si;
	w->registers[5] = regs->di;
	w->registers[8] = regs->r8;
	w->registers[9] = regs->r9;
	w->registers[10] = regs->r10;
	w->registers[11] = regs->r11;
	w->registers[12] = regs->r12;
	w->registers[13] = regs->r13;
	w->registers[14] = regs->r14;
	w->registers[15] = regs->r15;
	w->pc = regs->ip;
	w->sp = regs->sp;
	w->fp = regs->bp;
	return true;
}

struct capture_loop {
	struct unwind_walk *walk;
	__u64 *frames;
};

static long capture_loop_step(__u32 i, void *context)
{
	struct capture_loop *loop = context;

	return unwind_step(loop->walk, loop->frames);
}

/* How far up a process's own tables are looked for. */
#define CAPTURE_ANCESTORS 4

/*
 * What is known of the address space of a task; null: nothing. A process that was just forked and has not
 * executed another file has the code of its parent at the same places: until it is known itself, the
 * parent's tables serve it. Both run the same open file as their program only if that is so.
 */
static __always_inline struct space_value *capture_space(struct task_struct *task)
{
	struct file *program = task->mm->exe_file;
	struct space_value *value;
	__u32 i, pid;

	for (i = 0; i < CAPTURE_ANCESTORS; i++) {
		pid = task->tgid;
		value = bpf_map_lookup_elem(&unwind_spaces, &pid);
		if (value)
			return value->space.exec_id == (__u32)task->self_exec_id && !value->outdated
				       ? value
				       : NULL;
		task = task->real_parent;
		if (!task->mm || task->mm->exe_file != program)
			return NULL;
	}
	return NULL;
}

/* Walks the user stack from the registers in scratch->walk; fills the record's part of it. */
static __always_inline void capture_walk(struct capture_scratch *scratch, struct task_struct *task)
{
	struct capture_record *record = &scratch->record;
	struct unwind_walk *w = &scratch->walk;
	struct capture_loop loop = {w, scratch->frames};
	struct space_value *value;

	w->known = 0xffff;
	w->rbx_at = UNWIND_RBX_IN_REGISTER;
	w->fp_known = 1;
	w->pc_exact = 1;
	w->guess = 0;
	w->count = 0;
	w->end = UNWIND_END_LATER;
	w->mapping.start = w->mapping.end = 0;
	scratch->window_start = ~0ull;

	value = capture_space(task);
	if (!value) {
		record->end = UNWIND_END_LATER;
		return;
	}
	w->mappings = value->space.mappings;
	w->mapping_count = value->space.count;
	record->generation = value->space.generation;

	bpf_loop(UNWIND_FRAMES_MAX + 1, capture_loop_step, &loop, 0);
	/* an address that stays unknown must not have the stack copied again and again */
	if (w->end == UNWIND_END_LATER) {
		if (value->patience)
			value->patience--;
		else
			w->end = UNWIND_END_UNMAPPED;
	}
	record->end = w->end;
	record->user_frames = w->count;
}

/* The ring of this CPU, or null. */
static __always_inline void *capture_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&capture_rings, &cpu);
}

struct copy_loop {
	struct capture_copy *copy;
	__u64 from;
	__u32 done;   /* bytes gone through */
	__u32 copied; /* up to the last page that could be read */
	__u32 missing;
};

/* A page in the middle of a stack that was never touched is not there; so many in a row are its end. */
#define COPY_GAP_MAX (4 * 4096)

/* Copies up to the next border of 4 KiB: a read that crosses into a missing page would fail whole. */
static long capture_copy_step(__u32 i, void *context)
{
	struct copy_loop *loop = context;
	__u32 size = 4096 - (loop->from & 4095);
	__u32 to = loop->done;

	if (to > CAPTURE_COPY_MAX - 4096 || to - loop->copied > COPY_GAP_MAX)
		return 1;
	loop->done = to + size;
	if (bpf_probe_read_user(&loop->copy->stack[to], size, (void *)loop->from))
		loop->missing |= 1u << (i & 31);
	else
		loop->copied = to + size;
	loop->from += size;
	return 0;
}

/* Sends what user space needs to finish the stack. False: it could not be sent. */
static __always_inline bool capture_hand_over(struct capture_scratch *scratch, void *ring)
{
	struct unwind_walk *w = &scratch->walk;
	struct capture_handover *h;
	struct copy_loop loop = {};
	__u32 slot = bpf_get_smp_processor_id() % capture_copies, size;
	long failed;
	int i;

	loop.copy = bpf_map_lookup_elem(&capture_copy_map, &slot);
	if (!loop.copy || __sync_val_compare_and_swap(&loop.copy->busy, 0, 1))
		return false;
	unwind_settle_rbx(w);
	h = &loop.copy->handover;
	h->pc = w->pc;
	h->sp = w->sp;
	h->fp = w->fp;
	for (i = 0; i < UNWIND_REGISTERS; i++)
		h->registers[i] = w->registers[i];
	h->rbx_at = w->rbx_at;
	h->known = w->known;
	h->fp_known = w->fp_known;
	h->pc_exact = w->pc_exact;
	h->guess = w->guess;
	h->tid = scratch->record.tid;

	loop.from = w->sp - CAPTURE_BELOW;
	bpf_loop(CAPTURE_COPY_MAX / 4096 + 1, capture_copy_step, &loop, 0);
	h->copied = loop.copied;
	h->missing = loop.missing;
	size = loop.copied;
	if (size > CAPTURE_COPY_MAX)
		size = CAPTURE_COPY_MAX;
	size += sizeof(*h);
	h->head.source = CAPTURE_HANDOVER;
	h->head.size = size;
	h->head.time = scratch->record.head.time;
	failed = bpf_ringbuf_output(ring, h, size, BPF_RB_NO_WAKEUP);
	__sync_lock_test_and_set(&loop.copy->busy, 0);
	return !failed;
}

/* Fills what identifies the current thread. */
static __always_inline void capture_identity(struct capture_record *record, __u32 source,
					     struct task_struct *task)
{
	__u64 id = bpf_get_current_pid_tgid();

	record->head.source = source;
	record->head.time = bpf_ktime_get_ns();
	record->pid = id >> 32;
	record->tid = (__u32)id;
	record->thread_start = task->start_time;
	record->exec_id = (__u32)task->self_exec_id;
	record->generation = 0;
	record->user_frames = record->kernel_frames = 0;
	record->end = UNWIND_END_ROOT;
	record->has_user = 0;
	record->handed_over = 0;
	record->undecided = 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

/* Sends the record and its frames, and before it what is needed to finish it. */
static __always_inline void capture_send(struct capture_scratch *scratch)
{
	struct capture_record *record = &scratch->record;
	void *ring = capture_ring();
	__u32 frames, size;
	__u64 wake = BPF_RB_NO_WAKEUP;

	if (!ring) {
		capture_count_loss(CAPTURE_LOSS_NO_RING);
		return;
	}
	if (record->has_user && record->end == UNWIND_END_LATER) {
		record->handed_over = capture_hand_over(scratch, ring);
		if (!record->handed_over)
			capture_count_loss(CAPTURE_LOSS_HANDOVER);
		/* soon, before the process and what it has mapped are gone */
		wake = BPF_RB_FORCE_WAKEUP;
	}
	frames = record->user_frames + record->kernel_frames;
	if (frames > CAPTURE_FRAMES_MAX)
		frames = CAPTURE_FRAMES_MAX;
	size = sizeof(*record) + frames * sizeof(__u64);
	record->head.size = size;
	if (bpf_ringbuf_output(ring, record, size, wake))
		capture_count_loss(CAPTURE_LOSS_RING_FULL);
}

#endif
