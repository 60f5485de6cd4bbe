/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_STACK_ROWS_H
#define RESOLVE_STACK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/capture/abi.h"
#include "resolve/catalogue.h"
#include "resolve/runtimes.h"
#include "base/vec.h"
#include "film/writer.h"

/* A frame of a stack. */
struct stack_frame {
	uint32_t frame;
	enum film_how how;
};

/* Root first; all zero: empty. */
struct stack_frames {
	struct stack_frame *at;
	size_t count, room;
};

/*
 * Builds the film's rows for a stack from the words of a walk: each function pushes frames towards
 * the leaf of *stack (0: empty). False: the film's tables are full, and *stack is 0.
 */
struct stack_rows {
	struct film_writer *film;
	struct catalogue *catalogue;
	struct runtimes *runtimes;
	bool keeps_codes;
	struct stack_frames *pushed;	    /* gets a copy of all that is pushed; null: none does */
	struct lock_frames codes;	    /* of the last user stack, if they are kept */
	uint32_t places[UNWIND_FRAMES_MAX]; /* index of each frame's first word in a user stack */
};

bool stack_push(struct stack_rows *rows, uint32_t *stack, uint32_t frame, enum film_how how);

/* Pushes the mark that says why the stack ends before its root. */
bool stack_push_mark(struct stack_rows *rows, uint32_t *stack, enum unwind_end end);

/* frames: leaf first. */
bool stack_push_kernel(struct stack_rows *rows, uint32_t *stack, const uint64_t *frames,
		       uint32_t count);

/* The user frames of a stack. */
struct stack_user {
	struct process *process;
	struct catalogue_process *row;
	struct process_runtimes *runtimes;
	const uint64_t *words; /* leaf first (unwind/abi.h) */
	uint32_t count;	       /* number of words */
	uint64_t time;
};

/*
 * Pushes what the thread's program publishes of its work, as labels, if it was read (struct
 * capture_record).
 */
bool stack_push_context(struct stack_rows *rows, uint32_t *stack, const struct stack_user *user,
			uint64_t context);
bool stack_push_user(struct stack_rows *rows, uint32_t *stack, const struct stack_user *user);

#endif
