/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_TASK_LIST_H
#define RESOLVE_TASK_LIST_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "bpf/capture/abi.h"

/*
 * Iterates over the kernel's list of all threads with a source's program, which writes records
 * about each thread (bpf/sched/listing.h).
 */
struct bpf_program;
struct task_list;

/* program: a loaded task iterator. Only task_list_read() runs it. */
int task_list_new(const struct bpf_program *program, struct task_list **list, struct fail *why);
void task_list_free(struct task_list *list); /* null is allowed */

/*
 * Runs the program for each thread, and calls each() for each record soon after it was written.
 * from has a copy of the thread's stack and the registers to start the walk with; null: the record
 * has none. Both are valid until each() returns. each may be null if the program writes nothing.
 * Returns 0 or a negative errno.
 */
int task_list_read(struct task_list *list,
		   void (*each)(void *context, const struct capture_head *head,
				const struct capture_handover *from),
		   void *context);

/* A copy of a stack on which no thread runs, and the registers to start the walk with. */
struct still_stack {
	struct capture_handover from;
	uint8_t copy[CAPTURE_COPY_MAX];
};

/*
 * Copies the stack from a process's memory, page by page, because a missing page must not prevent
 * reading the next ones. `from` must have sp, and the thread pointer if that is above the stack.
 */
void still_stack_copy(struct still_stack *stack, pid_t pid);

#endif
