/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_WALK_H
#define BPF_CAPTURE_WALK_H

/*
 * Walks the user stack that capture_walk() wants, in programs of its own (walkers.bpf.c). A walk
 * stops where it meets the code of a runtime whose step is in another one of them.
 */

#include "bpf/capture/capture.h"
#include "bpf/capture/unwind.h"

struct capture_loop {
	struct unwind_walk *walk;
};

static long capture_loop_step(__u32 i, void *context)
{
	struct capture_loop *loop = context;

	/* a bool, which the verifier wants to see */
	return unwind_step(loop->walk) != 0;
}

/* What a walk knows at first, but for its registers and its tables. */
static __always_inline void capture_clear_walk(struct capture_scratch *scratch,
					       struct task_struct *task)
{
	struct unwind_walk *w = &scratch->walk;

	capture_walk_begin(w, task);
	w->has_runtime = 0;
	w->again = 0;
	w->absent = 0;
	w->assumed = 0;
	w->finished = 0;
	w->piece_at = 0;
	w->asked = 0;
	w->count = 0;
	w->uprobes = uprobes_page(task);
	__builtin_memset(w->state, 0, sizeof(w->state));
	__builtin_memset(&w->restart, 0, sizeof(w->restart));
	w->mapping.start = w->mapping.end = 0;
	scratch->window_start = ~0ull;
	scratch->instance = 0;
	/* also for the code that finishes the stack */
	if (w->pc - w->uprobes < UNWIND_UPROBES_BYTES) {
		capture_spoil_notes(scratch);
		uprobes_put_back(scratch);
	}
}

/* Reads what a program publishes of its current thread (bpf/runtime/otel/otel.h). */
int otel_thread(struct capture_scratch *s, __u32 reference);

/* False: it cannot be walked here. */
static __always_inline bool capture_find_tables(struct capture_scratch *scratch,
						struct task_struct *task)
{
	const struct space_value *value = capture_space(task);
	struct unwind_walk *w = &scratch->walk;

	if (!value)
		return false;
	w->mappings = value->space.mappings;
	w->mapping_count = value->space.count;
	w->jit_runtime = value->space.jit_runtime;
	w->jit_data = value->space.jit_data;
	w->home_runtime = value->space.home_runtime;
	w->home_data = value->space.home_data;
	w->doubted = value->doubted != 0;
	scratch->record.generation = w->generation = value->space.generation;
	if (value->space.context)
		otel_thread(scratch, value->space.context);
	return true;
}

/*
 * Begins with the registers that capture_registers() has read. Returns whether there is something
 * to walk: of a 32-bit program only the leaf is known.
 */
static __always_inline bool capture_begin_walk(struct capture_scratch *scratch,
					       struct task_struct *task)
{
	struct capture_record *record = &scratch->record;

	if (!regs_are_of_64_bits(&scratch->entry)) {
		scratch->walk.has_runtime = 0;
		scratch->frames[0] = (__u32)scratch->entry.ip;
		record->user_frames = 1;
		record->end = UNWIND_END_32_BIT;
		return false;
	}
	capture_clear_walk(scratch, task);
	if (capture_find_tables(scratch, task))
		return true;
	scratch->walk.end = record->end = UNWIND_END_LATER;
	unwind_settle_saved(&scratch->walk);
	return false;
}

static __always_inline void capture_end_walk(struct capture_scratch *scratch,
					     struct task_struct *task)
{
	struct capture_record *record = &scratch->record;
	struct unwind_walk *w = &scratch->walk;
	struct space_value *value;

	/* an address that stays unknown must not have the stack copied again and again */
	if (w->end == UNWIND_END_LATER) {
		unwind_settle_saved(w);
		value = capture_space(task);
		if (value && value->patience)
			value->patience--;
		else
			w->end = UNWIND_END_UNKNOWN;
	}
	record->end = w->end;
	record->user_frames = w->count;
	record->assumed = w->assumed;
}

/*
 * Walks on, and fills the record's part at last. Returns the runtime whose step is needed next; 0:
 * the walk is done. Not static: the verifier looks at it once.
 */
__weak __noinline int capture_walk_on(struct capture_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_loop loop;

	if (!s)
		return 0;
	loop.walk = &s->walk;
	if (s->walks == CAPTURE_STAGE_BEGIN) {
		s->walks = CAPTURE_STAGE_WALKS;
		if (!capture_begin_walk(s, task))
			return 0;
	}
	s->walk.wants = 0;
	/* a step may write nothing, when a runtime only prepares the next one */
	s->walk.end = UNWIND_END_STUCK;
	bpf_loop(2 * UNWIND_FRAMES_MAX, capture_loop_step, &loop, 0);
	if (s->walk.wants)
		return s->walk.wants;
	capture_end_walk(s, task);
	return 0;
}

/* Puts s->behind behind the frames. Returns how many words these are. */
static __always_inline __u32 capture_put_behind(struct capture_scratch *s)
{
	__u32 at = s->record.user_frames + s->record.kernel_frames, words = s->behind_words;

	OPAQUE(at);
	OPAQUE(words);
	if (!words || words > CAPTURE_BEHIND_WORDS || at > CAPTURE_FRAMES_MAX)
		return 0;
	if (at + words > CAPTURE_FRAMES_MAX)
		return 0;
	bpf_probe_read_kernel(&s->frames[at], words * sizeof(__u64), s->behind);
	return words;
}

/* The most runtimes without a step that a walk is looked for one of elsewhere. */
#define CAPTURE_ABSENT_MAX 2

/* A walker, called from where that table of programs belongs. */
static __always_inline int capture_walker(void *ctx, void *table, enum capture_walker walker)
{
	struct capture_scratch *s = capture_claimed(walker);
	__u32 i, wants, result;

	if (!s)
		return 0;
	for (i = 0; s->walks && i <= CAPTURE_ABSENT_MAX; i++) {
		wants = capture_walk_on(s);
		if (!wants)
			break;
		bpf_tail_call(ctx, table, wants);
		s->walk.absent |= i + 1 < CAPTURE_ABSENT_MAX ? 1u << (wants & 31) : ~0u;
	}
	result = s->result & 1;
	if (s->done != CAPTURE_DONE_NONE) {
		bpf_tail_call(ctx, table, s->done);
		capture_count_loss(CAPTURE_KIND_SOURCE(s->record.head.kind),
				   CAPTURE_LOSS_NO_WALKER);
	} else {
		capture_kernel_stack(ctx, s, s->kernel_frames);
		capture_send_with(s, capture_put_behind(s));
	}
	capture_end(s);
	return result;
}

#endif
