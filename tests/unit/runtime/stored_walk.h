/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_STORED_WALK_H
#define TESTS_RUNTIME_STORED_WALK_H

#include "base/buf.h"
#include "bpf/unwind/abi.h"
#include "runtime/runtime.h"
#include "unwind/pool.h"
#include "unwind/rules.h"
#include "unwind/table.h"

/*
 * Looks for runtimes in a process, walks the stack of one of its threads and names its frames, as
 * the recorder does, but in user space and in one go: the source that runs in the kernel, over any
 * memory: that of a thread which is stopped, or a stored one.
 */

/* A thread that has stopped. */
struct stored_thread {
	uint64_t registers[16]; /* by DWARF number */
	uint64_t pc, tls;
};

/* Where all comes from. */
struct stored_source {
	const struct process *process;
	const struct stored_thread *thread;
	struct runtime_memory memory;
	void *context; /* of the two functions */
	/* Bits of enum unwind_runtime: whose image this may be. */
	uint32_t (*suspects)(void *context, const struct image *image);
	/* The unwind table of an image; all zero: it has none. */
	void (*table)(void *context, const struct image *image, struct unwind_pool *pool,
		      struct unwind_rules *rules, struct unwind_table *table);
	/* May be null: a native frame was passed by this rule; address is the image's. */
	void (*passed)(void *context, const struct image *image, uint64_t address,
		       const struct unwind_rule *rule);
	/* Frames that are named too, although no walk found them: two words each. */
	const uint64_t (*more)[2];
	size_t more_count;
};

struct stored_stack {
	uint64_t frames[UNWIND_FRAMES_MAX];
	uint32_t count;
	enum unwind_end end;
	bool endless;	 /* it did not end by itself: a fault of a step */
	uint32_t missed; /* bits of enum unwind_runtime */
	uint32_t attached, named, unnamed;
	struct buf text; /* a line for each frame, innermost first, then "end …" and a zero byte */
};

/* 0, or -ENOMEM. The stack's text is the caller's to be freed by buf_free(). */
int stored_walk(const struct stored_source *source, struct stored_stack *stack);

/*
 * The same in parts: several stacks of one process, as long as it maps nothing else. stored_open():
 * 0, or -ENOMEM; then also to be closed. stored_take(): source->thread as it is now; text is added
 * to the stack's. The source and the stack must live until it is closed.
 */
struct stored_walk;
int stored_open(const struct stored_source *source, struct stored_stack *stack,
		struct stored_walk **opened);
void stored_take(struct stored_walk *walk);
void stored_close(struct stored_walk *walk);

#endif
