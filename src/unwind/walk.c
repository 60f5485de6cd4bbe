// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk.h"

#include <stdbool.h>
#include <string.h>

#include "unwind/here.h"

/* What the shared source asks for, hung around its state. */
struct walk_here {
	struct unwind_walk walk;
	const struct unwind_view *view;
	const struct unwind_copy *stack;
	uint64_t *frames;
	bool beyond_copy; /* a read failed since the copy does not reach that far */
};

static inline const struct walk_here *here_of(const struct unwind_walk *w)
{
	return (const struct walk_here *)w;
}

static inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n)
{
	/* reference 0 means none, so the pool is asked for the word behind the chunk's first */
	const __u32 *second = unwind_pool_at(here_of(w)->view->pool, n << UNWIND_CHUNK_SHIFT | 1);

	return second ? second - 1 : NULL;
}

static inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w)
{
	return here_of(w)->view->rules;
}

static inline __u64 *unwind_frames(struct unwind_walk *w)
{
	return (__u64 *)here_of(w)->frames;
}

static long read_memory(unwind_read_memory *read, void *context, void *to, __u32 size,
			__u64 address)
{
	return read && !read(context, to, size, address) ? 0 : -1;
}

static inline long unwind_read_code(const struct unwind_walk *w, void *to, __u32 size,
				    __u64 address)
{
	const struct unwind_view *view = here_of(w)->view;

	return read_memory(view->read_code, view->context, to, size, address);
}

static inline long unwind_read_far(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	const struct unwind_view *view = here_of(w)->view;

	return read_memory(view->read_far, view->context, to, size, address);
}

static inline int unwind_is_live(const struct unwind_walk *w)
{
	return here_of(w)->view->read_far != NULL;
}

/* Whether the byte at address lies in a page that could not be read. */
static bool is_missing(const struct unwind_copy *stack, uint64_t address)
{
	uint64_t page = (address >> 12) - (stack->base >> 12);

	return page < 32 && stack->missing >> page & 1;
}

static inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	const struct unwind_copy *stack = here_of(w)->stack;
	uint64_t offset = address - stack->base;

	if (offset < stack->size && size <= stack->size - offset) {
		if (is_missing(stack, address) || is_missing(stack, address + size - 1))
			return -1;
		memcpy(to, stack->bytes + offset, size);
		return 0;
	}
	if (address < stack->base)
		return -1;
	/* one frame may be larger than the copy, as those are in which Ruby has a thread's stack */
	if (!unwind_read_far(w, to, size, address))
		return 0;
	((struct walk_here *)w)->beyond_copy = true;
	return -1;
}

int unwind_walk_copy(const struct unwind_view *view, const struct unwind_copy *stack,
		     struct unwind_registers *at, uint64_t *frames, uint32_t *count)
{
	struct walk_here here = {
		.walk =
			{
				.pc = at->pc,
				.sp = at->sp,
				.fp = at->fp,
				.saved_at = at->saved_at,
				.known = at->known,
				.fp_known = at->fp_known,
				.pc_exact = at->pc_exact,
				.guess = at->guess,
				.missed = at->missed,
				.tls = at->tls,
				.uprobes = UNWIND_NO_UPROBES,
				.count = *count,
				.mappings = view->mappings,
				.mapping_count = view->mapping_count,
				.jit_runtime = view->jit_runtime,
				.jit_data = view->jit_data,
				.home_runtime = view->home_runtime,
				.home_data = view->home_data,
			},
		.view = view,
		.stack = stack,
		.frames = frames,
	};
	struct unwind_walk *w = &here.walk;
	uint32_t i;

	memcpy(w->registers, at->registers, sizeof(w->registers));
	/* as many as in the kernel; a walk that goes on and on writes nothing */
	w->end = UNWIND_END_STUCK;
	for (i = 0; i < 2 * UNWIND_FRAMES_MAX && !unwind_step(w); i++)
		;
	*count = w->count;
	at->pc = w->pc;
	at->sp = w->sp;
	at->fp = w->fp;
	memcpy(at->registers, w->registers, sizeof(at->registers));
	at->saved_at = w->saved_at;
	at->known = w->known;
	at->fp_known = w->fp_known;
	at->pc_exact = w->pc_exact;
	at->guess = w->guess;
	at->missed = w->missed;
	if (here.beyond_copy && (w->end == UNWIND_END_MEMORY || w->end == UNWIND_END_NO_RULE))
		return UNWIND_END_COPY;
	return w->end;
}
