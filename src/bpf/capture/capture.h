/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_CAPTURE_H
#define BPF_CAPTURE_CAPTURE_H

/*
 * The stack of the current thread: what every probe calls. The walk itself is elsewhere
 * (capture/walk.h).
 */

#include "bpf/capture/maps.h"
#include "bpf/capture/uprobes.h"
#include "bpf/opaque.h"
#include "bpf/sched/restarted.h"

/* What of a stack is wanted; set before loading. */
const volatile bool want_user __weak = true;
const volatile bool want_kernel __weak = true;

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
	if (REGS_CALL(regs) == SYSCALL_RESTART)
		REGS_CALL(regs) = restarted_of(task, (void *)bpf_task_pt_regs(task));
	regs_by_dwarf(regs, w->registers);
	w->pc = regs->ip;
	w->sp = regs->sp;
	w->fp = REGS_FP(regs);
	return true;
}

/* How far up a process's own tables are looked for. */
#define CAPTURE_ANCESTORS 4

/* Whether what is known of a process is of its program number exec_id, and still true. */
static __always_inline bool capture_is_valid(const struct space_value *value, __u32 exec_id)
{
	return !value->outdated &&
	       (value->space.exec_id == exec_id || value->space.exec_id == UNWIND_ANY_EXEC);
}

/*
 * A process that was just forked and has not executed another file has the code of its parent at
 * the same places: until it is known itself, the parent's tables serve it. Both run the same open
 * file as their program only if that is so. Returns the pid of that ancestor of the current
 * process; 0: there is none.
 *
 * They are read, not followed: for each pointer that a program follows, the verifier searches the
 * names of all of the kernel's types, which takes longer than a thousand instructions.
 */
__weak __noinline int capture_ancestor(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *program = BPF_CORE_READ(task, mm, exe_file);
	const struct space_value *value;
	__u32 i, pid;

	for (i = 1; i < CAPTURE_ANCESTORS; i++) {
		task = BPF_CORE_READ(task, real_parent);
		if (!program || BPF_CORE_READ(task, mm, exe_file) != program)
			return 0;
		pid = BPF_CORE_READ(task, tgid);
		value = bpf_map_lookup_elem(&unwind_spaces, &pid);
		if (value)
			return capture_is_valid(value, BPF_CORE_READ(task, self_exec_id)) ? pid : 0;
	}
	return 0;
}

/* What is known of the address space of the current task; null: nothing. */
static __always_inline struct space_value *capture_space(struct task_struct *task)
{
	__u32 pid = task->tgid;
	struct space_value *value = bpf_map_lookup_elem(&unwind_spaces, &pid);

	if (value)
		return capture_is_valid(value, task->self_exec_id) ? value : NULL;
	pid = capture_ancestor();
	return pid ? bpf_map_lookup_elem(&unwind_spaces, &pid) : NULL;
}

/* All registers are those of the thread: capture_registers() took them. */
static __always_inline void capture_walk_begin(struct unwind_walk *w, struct task_struct *task)
{
	w->known = 0xffff;
	w->saved_at = UNWIND_SAVED_IN_REGISTER;
	w->fp_known = 1;
	w->pc_exact = 1;
	w->guess = 0;
	w->missed = 0;
	w->fp_first = 1;
	w->leans = 0;
	w->tls = TASK_THREAD_POINTER(task);
}

/* The user stack is to be walked, from the registers in scratch->walk. */
static __always_inline void capture_wants_walk(struct capture_scratch *scratch)
{
	scratch->record.has_user = 1;
	scratch->walks = CAPTURE_STAGE_BEGIN;
}

/* There is no walker. Not static, so that it needs no stack of the program's own. */
__weak __noinline int capture_not_walked(struct capture_scratch *scratch)
{
	if (!scratch)
		return 0;
	capture_count_loss(CAPTURE_KIND_SOURCE(scratch->record.head.kind), CAPTURE_LOSS_NO_WALKER);
	capture_end(scratch);
	return 0;
}

/* Goes on as a walker; returns only if there is none. */
static __always_inline void capture_go(void *ctx, struct capture_scratch *scratch, void *table)
{
	bpf_tail_call(ctx, table, 0);
	capture_not_walked(scratch);
}

/* What follows the walk: see capture_walk(). */
static __always_inline void capture_then_send(struct capture_scratch *scratch, __u32 kernel,
					      __u32 words, __u32 result)
{
	scratch->done = CAPTURE_DONE_NONE;
	scratch->kernel_frames = kernel;
	scratch->behind_words = words;
	scratch->result = result;
}

/*
 * The last thing that a program does (in its own function, or what is inlined there: the kernel
 * wants tail calls there). The user stack is walked, if it is wanted, and the kernel's appended, of
 * `kernel` frames at most; the record is sent with that many words of scratch->behind, and the
 * memory is given back. The program returns `result` then. table: walk_name of its walker.
 */
static __always_inline void capture_walk(void *ctx, struct capture_scratch *scratch, void *table,
					 __u32 kernel, __u32 words, __u32 result)
{
	capture_then_send(scratch, kernel, words, result);
	capture_go(ctx, scratch, table);
}

/* The same, but the program name_done sends what was found, and gives the memory back. */
static __always_inline void capture_walk_then(void *ctx, struct capture_scratch *scratch,
					      void *table, enum capture_done done)
{
	scratch->done = done;
	scratch->result = 0;
	capture_go(ctx, scratch, table);
}

/* Appends the kernel's frames to the user's, which are there: `most` of them. */
static __always_inline void capture_kernel_stack(void *ctx, struct capture_scratch *scratch,
						 __u32 most)
{
	__u32 user_frames = scratch->record.user_frames;
	long bytes;

	if (!most || most > CAPTURE_KERNEL_FRAMES_MAX || user_frames > UNWIND_FRAMES_MAX)
		return;
	bytes = bpf_get_stack(ctx, &scratch->frames[user_frames], most * sizeof(__u64), 0);
	if (bytes > 0)
		scratch->record.kernel_frames = bytes / sizeof(__u64);
}

struct copy_loop {
	struct capture_copy *copy;
	__u64 from;
	__u32 room;   /* bytes that can be the stack's */
	__u32 done;   /* of them gone through */
	__u32 copied; /* up to the last page that could be read */
	__u32 missing;
};

/*
 * A page in the middle of a stack that was never touched is not there; this many in a row are its
 * end.
 */
#define COPY_GAP_MAX (4 * 4096)

/*
 * Copies up to the next border of 4 KiB: a read that crosses into a missing page would fail whole.
 */
static long capture_copy_step(__u32 i, void *context)
{
	struct copy_loop *loop = context;
	__u32 size = 4096 - (loop->from & 4095);
	__u32 to = loop->done;

	if (to >= loop->room || to > CAPTURE_COPY_MAX - 4096 || to - loop->copied > COPY_GAP_MAX)
		return 1;
	loop->done = to + size;
	if (bpf_probe_read_user(&loop->copy->stack[to], size, (void *)loop->from))
		loop->missing |= 1u << (i & 31);
	else
		loop->copied = to + size;
	loop->from += size;
	return 0;
}

/*
 * How far a stack reaches from there at most. The thread pointer lies above the whole stack that
 * the C library gave a thread (allocatestack.c of glibc, pthread_create.c of musl) and in none:
 * what is below it ends below it. Without that, anything else that is mapped behind would be
 * copied.
 */
static __always_inline __u32 capture_stack_room(const struct unwind_walk *w, __u64 from)
{
	return w->tls > w->sp && w->tls - from < CAPTURE_COPY_MAX ? w->tls - from
								  : CAPTURE_COPY_MAX;
}

/* Where the walk is: what it goes on with elsewhere. */
static __always_inline void capture_set_walk(struct capture_handover *h,
					     const struct unwind_walk *w)
{
	int i;

	h->pc = w->pc;
	h->sp = w->sp;
	h->fp = w->fp;
	for (i = 0; i < ARCH_REGISTERS; i++)
		h->registers[i] = w->registers[i];
	h->saved_at = w->saved_at;
	h->known = w->known;
	h->fp_known = w->fp_known;
	h->pc_exact = w->pc_exact;
	h->guess = w->guess;
	h->missed = w->missed;
	h->tls = w->tls;
}

/*
 * Sends what user space needs to finish the stack. False: it could not be sent. Apart, as code that
 * walks a stack has what is left of 512 bytes for it (Linux before 6.13).
 */
static __noinline bool capture_hand_over(struct capture_scratch *scratch, void *ring)
{
	struct unwind_walk *w = &scratch->walk;
	struct capture_handover *h;
	struct copy_loop loop = {};
	__u32 slot = bpf_get_smp_processor_id() % capture_copies, size;
	long failed;

	/* a ring full of copies would have no room for samples, of which each is worth more */
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >
	    bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2)
		return false;
	loop.copy = bpf_map_lookup_elem(&capture_copy_map, &slot);
	if (!loop.copy || __sync_val_compare_and_swap(&loop.copy->busy, 0, 1))
		return false;
	h = &loop.copy->handover;
	capture_set_walk(h, w);
	h->tid = scratch->record.identity.tid;

	loop.from = w->sp - CAPTURE_BELOW;
	loop.room = capture_stack_room(w, loop.from);
	bpf_loop(CAPTURE_COPY_MAX / 4096 + 1, capture_copy_step, &loop, 0);
	uprobes_repair(loop.copy, w->sp - CAPTURE_BELOW, w->uprobes);
	size = loop.copied < loop.room ? loop.copied : loop.room;
	if (size > CAPTURE_COPY_MAX)
		size = CAPTURE_COPY_MAX;
	h->copied = size;
	h->missing = loop.missing;
	h->is_still = 0;
	size += sizeof(*h);
	h->head.kind = CAPTURE_HANDOVER;
	h->head.size = size;
	h->head.time = scratch->record.head.time;
	failed = capture_output(ring, CAPTURE_KIND_SOURCE(scratch->record.head.kind), h, size,
				BPF_RB_NO_WAKEUP);
	__sync_lock_test_and_set(&loop.copy->busy, 0);
	return !failed;
}

/* Begins the record of a thread; whose numbers, name, time and value are the caller's to fill. */
static __always_inline void capture_blank(struct capture_record *record, __u32 kind,
					  struct task_struct *task)
{
	struct capture_identity *identity = &record->identity;

	record->head.kind = kind;
	identity->thread_start = task->start_time;
	identity->exec_id = (__u32)task->self_exec_id;
	identity->undecided = 0;
	identity->cpu = 0;
	identity->value = 0;
	identity->key = 0;
	record->assumed = 0;
	record->generation = 0;
	record->user_frames = record->kernel_frames = 0;
	record->end = UNWIND_END_ROOT;
	record->has_user = 0;
	record->handed_over = 0;
	record->stack = 0;
	record->as_before = 0;
	record->context = 0;
}

/* Begins the record of the current thread. kind: of the source; value: in the unit of its event. */
static __always_inline void capture_identity(struct capture_record *record, __u32 kind,
					     struct task_struct *task, __u64 value)
{
	struct capture_identity *identity = &record->identity;
	__u64 id = bpf_get_current_pid_tgid();

	capture_blank(record, kind, task);
	record->head.time = bpf_ktime_get_ns();
	identity->pid = id >> 32;
	identity->tid = (__u32)id;
	bpf_get_current_comm(identity->comm, sizeof(identity->comm));
	identity->value = value;
}

/*
 * Names of a runtime's frames are read from the process, so those of one that may be gone before
 * the rings are drained the next time are asked for at once. Most programs that live short are
 * young.
 */
#define CAPTURE_YOUNG_NS 2000000000ull

static __always_inline bool capture_is_urgent(const struct capture_scratch *scratch)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!scratch->record.has_user || !scratch->walk.has_runtime)
		return false;
	return scratch->record.head.time - BPF_CORE_READ(task, group_leader, start_time) <
	       CAPTURE_YOUNG_NS;
}

/* Sends the record, its frames and that many words behind them. False: it was lost, and counted. */
static __always_inline bool capture_put(struct capture_scratch *scratch, void *ring, __u32 words,
					__u64 wake)
{
	struct capture_record *record = &scratch->record;
	__u32 source = CAPTURE_KIND_SOURCE(record->head.kind), frames, size;

	frames = record->user_frames + record->kernel_frames + words;
	if (frames > CAPTURE_FRAMES_MAX)
		frames = CAPTURE_FRAMES_MAX;
	size = sizeof(*record) + frames * sizeof(__u64);
	record->head.size = size;
	if (!capture_output(ring, source, record, size, wake))
		return true;
	capture_count_loss(source, CAPTURE_LOSS_RING_FULL);
	return false;
}

static __always_inline void *capture_ring_of(struct capture_scratch *scratch)
{
	void *ring = capture_ring();

	if (!ring)
		capture_count_loss(CAPTURE_KIND_SOURCE(scratch->record.head.kind),
				   CAPTURE_LOSS_NO_RING);
	return ring;
}

/* The same of a record that has no user stack: there is nothing to finish. */
static __always_inline bool capture_send_plain(struct capture_scratch *scratch, __u32 words)
{
	void *ring = capture_ring_of(scratch);

	return ring && capture_put(scratch, ring, words, BPF_RB_NO_WAKEUP);
}

/* The same, and before it what is needed to finish the user stack. */
static __always_inline bool capture_send_with(struct capture_scratch *scratch, __u32 words)
{
	struct capture_record *record = &scratch->record;
	void *ring = capture_ring_of(scratch);
	__u64 wake = BPF_RB_NO_WAKEUP;

	if (!ring)
		return false;
	if (record->has_user && record->end == UNWIND_END_LATER) {
		record->handed_over = capture_hand_over(scratch, ring);
		if (!record->handed_over)
			capture_count_loss(CAPTURE_KIND_SOURCE(record->head.kind),
					   CAPTURE_LOSS_HANDOVER);
		/* soon, before the process and what it has mapped are gone */
		wake = BPF_RB_FORCE_WAKEUP;
	}
	if (capture_is_urgent(scratch))
		wake = BPF_RB_FORCE_WAKEUP;
	return capture_put(scratch, ring, words, wake);
}

static __always_inline void capture_send(struct capture_scratch *scratch)
{
	capture_send_with(scratch, 0);
}

#endif
