/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_THREADS_LOCKS_H
#define SOURCES_SCHED_THREADS_LOCKS_H

#include "bpf/sched/threads_abi.h"
#include "sources/sched/lives.h"
#include "sources/sched/lock.h"
#include "sources/sched/pipe_ends.h"
#include "sources/waiting.h"

/*
 * The locks that threads wait for, as the event threads has them: whose lock it is, lock.c says.
 * All are asked right after samples_resolve() of the stack of the wait.
 */

/*
 * Of a wait that is over, whose stack is in the record: fills the lock, and whether the thread that
 * ended the wait released it by a call. False: it was for none.
 */
bool threads_lock_of_stack(struct lock_book *book, const struct capture_record *record,
			   struct film_lock *lock, bool *released);

/* A lock of a wait that is over; null: it was for none. */
struct lives_lock threads_lock_from(const struct film_lock *row, bool released);

/*
 * Of a wait that goes on, in the list of tasks. ends: the other end of the pipe that it is for is
 * looked for, too; null: it is not.
 */
struct lives_lock threads_lock_of_list(struct lock_book *book, struct pipe_ends *ends,
				       const struct capture_record *record,
				       const struct off_cpu_wait *wait);

/* A lock waits for the end of its wait together with the stack. */
void threads_lock_keep(struct waiting_half *half, const struct lives_lock *lock);
struct lives_lock threads_lock_kept(const struct waiting_half *half);

#endif
