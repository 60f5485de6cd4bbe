/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_AS_BEFORE_H
#define BPF_SCHED_AS_BEFORE_H

/*
 * Stacks that a thread has had before. A thread mostly waits where it has waited before; then its
 * stack need not be walked again, nor sent again: the record says which one it is.
 *
 * Of the user stack, all that the walk has read was noted: the registers, each word of memory, the
 * tables' generation. If all that is the same, a walk finds the same.
 *
 * The kernel walks its own stack, and does not say where it has found what. But each address that
 * it has found stands in a word of that stack, and nearly all functions of the kernel find their
 * caller by the stack pointer: from the same place, with the same return address, to the same next
 * place. So all words are noted that hold any of the addresses found, at their distance from the
 * stack pointer; among them are those that the walk has read. If all of them are the same, so is
 * the first that a walk reads, and with it the next one, up to the last. (do_syscall_64() finds its
 * caller by rbp, since it moves its frame by a random distance: the address that it returns to lies
 * right below the saved registers, and is noted there.) Words that are left over from other calls
 * are noted with the others; one that has changed while the stack was the same was of that kind,
 * and is forgotten.
 */
#include "bpf/capture/capture.h"

/* Of each thread: it waits in at most this many ways, and wakes others in some. */
#define AS_BEFORE_STACKS 4

/* Of a kernel stack: the most addresses, and words that hold any of them. */
#define AS_BEFORE_FRAMES_MAX 48
#define AS_BEFORE_KERNEL_MAX 56

/* A user stack is read in pieces of this many words. */
#define AS_BEFORE_WINDOWS      8
#define AS_BEFORE_WINDOW_WORDS (CAPTURE_MEMORY_WORDS / AS_BEFORE_WINDOWS)

/* After this many stacks in a row that were new, as many times that are not noted. */
#define AS_BEFORE_PATIENCE 16
#define AS_BEFORE_PAUSE	   64

/* The most threads whose stacks are kept: their memory is the kernel's. */
#define AS_BEFORE_THREADS_MAX 2048

/* Set before loading: stacks that would be as before are walked and sent, too. */
const volatile bool sched_check;

/* Counted up by user space when it forgets all stacks. */
__u32 sched_stacks_kept;

/*
 * The address that the kernel's scheduler calls this program from, told by user space: on the
 * stack, what lies above is the walk's, and what lies below are this program and those that call
 * it. 0: it is not known yet.
 */
__u64 sched_scheduler;

__s64 sched_memories;

struct as_before_window {
	__u32 from; /* bytes from the stack pointer */
	__u32 size; /* bytes */
};

struct as_before_stack {
	__u32 id;   /* 0: free */
	__u32 kept; /* sched_stacks_kept when it was sent */
	__u64 pc, sp, fp;
	__u32 generation, exec_id;
	__u8 has_user, has_kernel, leans_on_fp;
	__u8 windows;
	__u16 user_words, kernel_words;
	__u32 kernel_bytes; /* from the stack pointer to behind the last word */
	__u64 below_registers;
	__u64 kernel_hash;
	struct as_before_window window[AS_BEFORE_WINDOWS];
	/* where in capture_notes.memory they are once it is read */
	__u16 user_at[CAPTURE_NOTES_MAX], kernel_at[AS_BEFORE_KERNEL_MAX];
	__u64 user_value[CAPTURE_NOTES_MAX], kernel_value[AS_BEFORE_KERNEL_MAX];
};

struct as_before_thread {
	__u32 last_id;
	__u32 next; /* that gives way to a new one */
	__u32 in_a_row, pause;
	struct as_before_stack stacks[AS_BEFORE_STACKS];
};
_Static_assert(sizeof(struct as_before_thread) <= TASK_STORAGE_MAX, "task storage refuses it");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct as_before_thread);
} sched_stacks SEC(".maps");

/* -- is it as before? -------------------------------------------------------------------------- */

/* Reads the words of a user stack. */
static __always_inline bool as_before_read(struct capture_notes *notes,
					   const struct as_before_stack *stack)
{
	__u32 i;

	for (i = 0; i < AS_BEFORE_WINDOWS && i < stack->windows; i++) {
		__u32 size = stack->window[i].size;

		if (size > AS_BEFORE_WINDOW_WORDS * 8 ||
		    bpf_probe_read_user(&notes->memory[i * AS_BEFORE_WINDOW_WORDS], size,
					(void *)(stack->sp + stack->window[i].from)))
			return false;
	}
	return true;
}

static __always_inline bool as_before_user(struct capture_notes *notes,
					   const struct as_before_stack *stack)
{
	__u32 i, at;

	if (!as_before_read(notes, stack))
		return false;
	for (i = 0; i < CAPTURE_NOTES_MAX && i < stack->user_words; i++) {
		at = stack->user_at[i];
		if (notes->memory[at & (CAPTURE_MEMORY_WORDS - 1)] != stack->user_value[i])
			return false;
	}
	return true;
}

/* Right below the registers that the thread entered the kernel with. */
static __always_inline __u64 as_before_below_registers(struct task_struct *task)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)bpf_task_pt_regs(task) - 8);
	return value;
}

static __always_inline bool as_before_kernel(struct capture_notes *notes,
					     const struct as_before_stack *stack,
					     struct task_struct *task)
{
	__u32 size = stack->kernel_bytes, i, at;

	if (size > sizeof(notes->memory) ||
	    bpf_probe_read_kernel(notes->memory, size, (void *)TASK_KERNEL_SP(task)) ||
	    as_before_below_registers(task) != stack->below_registers)
		return false;
	for (i = 0; i < AS_BEFORE_KERNEL_MAX && i < stack->kernel_words; i++) {
		at = stack->kernel_at[i];
		if (notes->memory[at & (CAPTURE_MEMORY_WORDS - 1)] != stack->kernel_value[i])
			return false;
	}
	return true;
}

/* Not static, so that the verifier looks at it once. */
__weak __noinline int as_before_is(struct capture_scratch *s, struct as_before_stack *stack)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!s || !stack)
		return 0;
	if (stack->has_user && !as_before_user(&s->notes, stack))
		return 0;
	return !stack->has_kernel || as_before_kernel(&s->notes, stack, task);
}

/* Whether the registers, and the tables, allow that it is this one. */
static __always_inline bool as_before_may_be(const struct capture_scratch *scratch,
					     const struct as_before_stack *stack, bool has_kernel,
					     __u32 generation)
{
	const struct probe_regs *regs = &scratch->entry;

	if (!stack->id || stack->kept != sched_stacks_kept || stack->has_kernel != has_kernel ||
	    stack->has_user != scratch->record.has_user)
		return false;
	if (!stack->has_user)
		return true;
	return stack->pc == regs->ip && stack->sp == regs->sp && stack->generation == generation &&
	       (!stack->leans_on_fp || stack->fp == REGS_FP(regs)) &&
	       stack->exec_id == scratch->record.identity.exec_id;
}

/*
 * The generation of the tables that a walk would use, of which nothing is in doubt; 0: there are
 * none.
 */
static __always_inline __u32 as_before_generation(const struct capture_scratch *scratch,
						  struct task_struct *task)
{
	const struct space_value *value;

	if (!regs_are_of_64_bits(&scratch->entry))
		return 0;
	value = capture_space(task);
	/* what a thread publishes does not belong to its stack */
	return value && !value->doubted && !value->space.context ? value->space.generation : 0;
}

/*
 * 1: the stack of the current thread is as one before, to which the record refers from then on.
 * Registers are taken, and record.has_user is set. has_kernel: the kernel's part belongs to it. Not
 * static, as the others, so that the verifier looks at it once, and that none of its data is on the
 * stack of a program while that walks.
 */
__weak __noinline int as_before_find(struct capture_scratch *scratch,
				     struct as_before_thread *thread, int has_kernel)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_record *record;
	__u32 generation, i;

	if (!scratch || !thread)
		return 0;
	record = &scratch->record;
	generation = record->has_user ? as_before_generation(scratch, task) : 0;
	if (record->has_user && !generation)
		return 0;
	for (i = 0; i < AS_BEFORE_STACKS; i++) {
		struct as_before_stack *stack = &thread->stacks[i];

		if (!as_before_may_be(scratch, stack, has_kernel, generation) ||
		    !as_before_is(scratch, stack))
			continue;
		record->stack = stack->id;
		record->as_before = 1;
		record->generation = generation;
		scratch->walk.has_runtime = 0;
		thread->in_a_row = 0;
		return 1;
	}
	return 0;
}

/* -- it is new --------------------------------------------------------------------------------- */

struct as_before_noting {
	struct capture_scratch *scratch;
	struct as_before_stack *stack;
	__u64 least, most;  /* addresses on the kernel's stack */
	__u64 word;	    /* that is looked at, */
	__u32 is_frame;	    /* and whether any of them is in it */
	__u32 first, count; /* where they are among the frames of the record */
	__u32 words;	    /* noted before */
	__u32 stack_words;  /* of the kernel's stack; 0: it was not read */
	__u64 hash;	    /* of the kernel's frames */
};

/* Sorts one word of what the walk has read into the windows. */
static long as_before_user_step(__u32 i, void *context)
{
	struct as_before_noting *noting = context;
	struct capture_notes *notes = &noting->scratch->notes;
	struct as_before_stack *stack = noting->stack;
	__u64 from = notes->at[i & (CAPTURE_NOTES_MAX - 1)] - stack->sp, last;
	__u32 windows = stack->windows, n;

	if (i >= notes->count)
		return 1;
	/* those that follow each other are mostly near to each other */
	n = windows - 1;
	last = windows ? stack->window[n & (AS_BEFORE_WINDOWS - 1)].from : 0;
	if (!windows || from < last || from - last > (AS_BEFORE_WINDOW_WORDS - 1) * 8) {
		if (windows >= AS_BEFORE_WINDOWS || from >> 31) {
			notes->count = CAPTURE_NOTES_SPOILT;
			return 1;
		}
		/* a saved rbp may be read behind the return address above it */
		last = from >= 64 ? from - 64 : 0;
		n = windows;
		stack->window[n & (AS_BEFORE_WINDOWS - 1)].from = (__u32)last;
		stack->window[n & (AS_BEFORE_WINDOWS - 1)].size = 0;
		stack->windows = n + 1;
	}
	from -= last;
	if (from + 8 > stack->window[n & (AS_BEFORE_WINDOWS - 1)].size)
		stack->window[n & (AS_BEFORE_WINDOWS - 1)].size = from + 8;
	stack->user_at[i & (CAPTURE_NOTES_MAX - 1)] = n * AS_BEFORE_WINDOW_WORDS + from / 8;
	stack->user_value[i & (CAPTURE_NOTES_MAX - 1)] = notes->value[i & (CAPTURE_NOTES_MAX - 1)];
	return 0;
}

/* A hash of the kernel's frames, and between which addresses they lie. */
static long as_before_hash_step(__u32 i, void *context)
{
	struct as_before_noting *noting = context;
	__u32 at = noting->first + i;
	__u64 frame;

	OPAQUE(at);
	if (i >= noting->count || at >= CAPTURE_FRAMES_MAX)
		return 1;
	frame = noting->scratch->frames[at];
	noting->hash = (noting->hash ^ frame) * 0x100000001b3ull;
	if (frame == sched_scheduler)
		noting->scratch->notes.own = i + 1;
	noting->least = frame < noting->least ? frame : noting->least;
	noting->most = frame > noting->most ? frame : noting->most;
	return 0;
}

/* Whether frame j is what the word of the kernel stack holds that is looked at. */
static long as_before_frame_step(__u32 j, void *context)
{
	struct as_before_noting *noting = context;
	__u32 at = noting->first + j;

	OPAQUE(at);
	if (j >= noting->count || at >= CAPTURE_FRAMES_MAX)
		return 1;
	if (noting->scratch->frames[at] != noting->word)
		return 0;
	noting->scratch->notes.found |= 1ull << (j & 63);
	noting->is_frame = 1;
	return 0;
}

/* Notes a word of the kernel stack, and where it is. False: there are too many. */
static __always_inline bool as_before_note_word(struct as_before_stack *stack, __u32 at, __u64 word)
{
	__u32 words = stack->kernel_words;

	OPAQUE(words);
	if (words >= AS_BEFORE_KERNEL_MAX)
		return false;
	stack->kernel_at[words] = at;
	stack->kernel_value[words] = word;
	stack->kernel_words = words + 1;
	stack->kernel_bytes = (at + 1) * 8;
	return true;
}

/* Notes word i of the kernel stack, if the walk has found such an address. */
static long as_before_kernel_step(__u32 i, void *context)
{
	struct as_before_noting *noting = context;
	struct as_before_stack *stack = noting->stack;
	__u64 word = noting->scratch->notes.memory[i & (CAPTURE_MEMORY_WORDS - 1)];

	if (i >= noting->stack_words)
		return 1;
	if (word < noting->least || word > noting->most)
		return 0;
	noting->word = word;
	noting->is_frame = 0;
	bpf_loop(AS_BEFORE_FRAMES_MAX, as_before_frame_step, noting, 0);
	if (!noting->is_frame)
		return 0;
	if (!as_before_note_word(stack, i, word)) {
		noting->scratch->notes.found = 0;
		return 1;
	}
	return 0;
}

/* Of the words noted when the stack was the same, those that are as then. */
static long as_before_same_step(__u32 i, void *context)
{
	struct as_before_noting *noting = context;
	struct as_before_stack *stack = noting->stack;
	__u32 at;
	__u64 value;

	OPAQUE(i);
	if (i >= noting->words || i >= AS_BEFORE_KERNEL_MAX)
		return 1;
	at = stack->kernel_at[i];
	value = stack->kernel_value[i];
	if (at < noting->stack_words &&
	    noting->scratch->notes.memory[at & (CAPTURE_MEMORY_WORDS - 1)] == value)
		as_before_note_word(stack, at, value);
	return 0;
}

/* Reads the kernel's stack up to the saved registers. Returns its words; 0: it is too large. */
static __always_inline __u32 as_before_read_kernel(struct capture_notes *notes,
						   struct task_struct *task)
{
	__u64 from = TASK_KERNEL_SP(task);
	__u64 size;

	/* through memory: the verifier lets no pointer be subtracted from */
	*(volatile __u64 *)&notes->registers = (__u64)bpf_task_pt_regs(task);
	size = *(volatile __u64 *)&notes->registers - 8 - from;
	if (size & 7 || size > sizeof(notes->memory) ||
	    bpf_probe_read_kernel(notes->memory, size, (void *)from))
		return 0;
	return size / 8;
}

/* Whether all addresses above the scheduler's, but the last one, were found. */
static __always_inline bool as_before_is_whole(const struct as_before_noting *noting)
{
	__u64 wanted = (1ull << ((noting->count - 1) & 63)) - 1;
	__u64 own = (1ull << (noting->scratch->notes.own & 63)) - 1;

	wanted &= ~own;
	return noting->scratch->notes.own && wanted &&
	       (noting->scratch->notes.found & wanted) == wanted;
}

/*
 * Notes the kernel's part of the stack that was just walked. known: as it was noted, it had the
 * same frames.
 */
static __always_inline bool as_before_note_kernel(struct as_before_noting *noting,
						  struct task_struct *task, bool known)
{
	struct capture_scratch *scratch = noting->scratch;
	struct as_before_stack *stack = noting->stack;
	__u32 last = noting->first + noting->count - 1;

	if (!noting->count || noting->count > AS_BEFORE_FRAMES_MAX || !scratch->notes.own ||
	    last >= CAPTURE_FRAMES_MAX)
		return false;
	stack->below_registers = as_before_below_registers(task);
	if (scratch->frames[last] != stack->below_registers)
		return false;
	noting->stack_words = as_before_read_kernel(&scratch->notes, task);
	if (known) {
		noting->words = stack->kernel_words;
		stack->kernel_words = 0;
		bpf_loop(AS_BEFORE_KERNEL_MAX, as_before_same_step, noting, 0);
		return stack->kernel_words != 0;
	}
	stack->kernel_words = 0;
	stack->kernel_bytes = 0;
	stack->kernel_hash = noting->hash;
	scratch->notes.found = 0;
	bpf_loop(CAPTURE_MEMORY_WORDS, as_before_kernel_step, noting, 0);
	return as_before_is_whole(noting);
}

static __always_inline bool as_before_note_user(struct as_before_noting *noting)
{
	struct capture_scratch *scratch = noting->scratch;
	struct as_before_stack *stack = noting->stack;
	struct unwind_walk *w = &scratch->walk;

	/* only what the registers, the memory of the stack and the tables decide alone */
	if (scratch->record.end != UNWIND_END_ROOT || scratch->record.assumed ||
	    scratch->record.context || !scratch->record.generation || w->asked ||
	    w->restart.asked || w->has_runtime || w->doubted || w->leans & UNWIND_LEANS_ON_OTHERS ||
	    scratch->entry.sp & 7)
		return false;
	stack->pc = scratch->entry.ip;
	stack->sp = scratch->entry.sp;
	stack->fp = REGS_FP(&scratch->entry);
	stack->generation = scratch->record.generation;
	stack->leans_on_fp = w->leans & UNWIND_LEANS_ON_FP;
	stack->windows = 0;
	bpf_loop(CAPTURE_NOTES_MAX, as_before_user_step, noting, 0);
	stack->user_words = scratch->notes.count;
	return scratch->notes.count <= CAPTURE_NOTES_MAX;
}

/* Where to note it: it is known, but something of what was noted has changed; or it is new. */
static __always_inline __u32 as_before_place(const struct capture_scratch *scratch,
					     struct as_before_thread *thread, bool has_kernel,
					     __u64 hash, bool *known)
{
	__u32 i;

	for (i = 0; i < AS_BEFORE_STACKS; i++) {
		struct as_before_stack *stack = &thread->stacks[i];

		if (!as_before_may_be(scratch, stack, has_kernel, scratch->record.generation) ||
		    stack->kernel_hash != hash)
			continue;
		*known = true;
		return i;
	}
	return thread->next++ & (AS_BEFORE_STACKS - 1);
}

/*
 * Notes the stack that was just walked, for the next time; frames and registers are those of
 * scratch. The record gets the number by which others may refer to it.
 */
__weak __noinline int as_before_note(struct capture_scratch *scratch,
				     struct as_before_thread *thread, int has_kernel)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct as_before_noting noting = {.least = ~0ull};
	struct as_before_stack *stack;
	bool known = false;
	__u32 place;

	if (!scratch || !thread)
		return 0;
	if (++thread->in_a_row >= AS_BEFORE_PATIENCE) {
		thread->in_a_row = 0;
		thread->pause = AS_BEFORE_PAUSE;
	}
	noting.scratch = scratch;
	noting.first = scratch->record.user_frames;
	noting.count = scratch->record.kernel_frames;
	scratch->notes.own = 0;
	if (has_kernel)
		bpf_loop(AS_BEFORE_FRAMES_MAX, as_before_hash_step, &noting, 0);
	place = as_before_place(scratch, thread, has_kernel, noting.hash, &known);
	noting.stack = stack = &thread->stacks[place & (AS_BEFORE_STACKS - 1)];
	stack->id = 0;
	stack->kept = sched_stacks_kept;
	stack->exec_id = scratch->record.identity.exec_id;
	stack->has_user = scratch->record.has_user;
	stack->has_kernel = has_kernel != 0;
	if ((stack->has_user && !as_before_note_user(&noting)) ||
	    (has_kernel && !as_before_note_kernel(&noting, task, known)))
		return 0;
	stack->kernel_hash = noting.hash;
	thread->last_id = (thread->last_id & 0x3fffffff) + 1;
	/* its place counts, too: user space forgets what was there */
	stack->id = thread->last_id * AS_BEFORE_STACKS + place;
	scratch->record.stack = stack->id;
	return 1;
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Of the current thread; null: there is none. */
static __always_inline struct as_before_thread *as_before_memory(struct task_struct *task)
{
	struct as_before_thread *thread = bpf_task_storage_get(&sched_stacks, task, 0, 0);

	if (thread || sched_memories >= AS_BEFORE_THREADS_MAX || task->flags & PF_EXITING)
		return thread;
	thread = bpf_task_storage_get(&sched_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		__sync_fetch_and_add(&sched_memories, 1);
	return thread;
}

/* The thread ends. */
static __always_inline void as_before_forget(struct task_struct *task)
{
	if (!bpf_task_storage_delete(&sched_stacks, task))
		__sync_fetch_and_add(&sched_memories, -1);
}

/* The record with a stack that was noted could not be sent. */
static __always_inline void as_before_not_sent(const struct capture_record *record,
					       struct task_struct *task)
{
	struct as_before_thread *thread;

	if (!record->stack || record->as_before)
		return;
	thread = bpf_task_storage_get(&sched_stacks, task, 0, 0);
	if (thread)
		thread->stacks[record->stack & (AS_BEFORE_STACKS - 1)].id = 0;
}

#endif
