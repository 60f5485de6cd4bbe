/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_TASK_LIST_H
#define RESOLVE_TASK_LIST_H

#include "base/fail.h"
#include "bpf/capture/abi.h"

/*
 * The kernel's list of all threads, with what a program of a source writes about each of them
 * (bpf/sched/listing.h).
 */
struct bpf_program;
struct task_list;

/* program: loaded, of an iterator of tasks. It is run by task_list_read() only. */
int task_list_new(const struct bpf_program *program, struct task_list **list, struct fail *why);
void task_list_free(struct task_list *list); /* null is allowed */

/*
 * Runs the program for each thread, and calls each() for each record that it wrote, soon after that
 * was written. from has the registers that a stack is to be walked from, and a copy of that stack;
 * null: the record has none. Both live until each() returns. each null: it writes nothing. 0 or a
 * negative errno.
 */
int task_list_read(struct task_list *list,
		   void (*each)(void *context, const struct capture_head *head,
				const struct capture_handover *from),
		   void *context);

#endif
