/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_LOCK_H
#define SOURCES_SCHED_LOCK_H

#include <stdbool.h>

#include "bpf/sched/off_cpu_abi.h"
#include "sources/source.h"
#include "film/film.h"

/*
 * Which waits in futex(2) are for a lock, for which, and who holds it: decided from what lock.h has
 * read when the wait began. What it may be is only taken for a lock if nothing speaks against it; a
 * holder, if it is another thread of the process. Other waits are for events. Locks of files are
 * known by what the kernel says (bpf/sched/file_lock.h); any process may hold them.
 */
struct lock_book;

/* Returns 0 or -ENOMEM. */
int lock_book_new(const struct source_host *host, struct lock_book **book);
void lock_book_free(struct lock_book *book); /* null is allowed */

/* Another film: its rows are others. */
void lock_book_turn(struct lock_book *book);

void lock_book_process_gone(struct lock_book *book, pid_t pid);

/*
 * Tells the kernel side where the runtime of a process has its locks, once that is known: to be
 * called now and then, for a process that waits.
 */
void lock_meet(struct lock_book *book, pid_t pid);

/*
 * Fills what a lock's row says of the lock and its holder. began: when the wait did. False: it is
 * no wait for a lock.
 */
bool lock_read(struct lock_book *book, const struct capture_record *record,
	       const struct lock_evidence *evidence, uint64_t began, struct film_lock *row);

/*
 * The evidence of a wait that has none, such as one that began before the recording: what its
 * system call says; and, if it goes on, the lock itself, read now: the thread stands still, and its
 * lock is the one that it has begun to wait for. False: it waits for no lock.
 */
bool lock_look(pid_t pid, const struct off_cpu_wait *wait, bool goes_on,
	       struct lock_evidence *evidence);

/*
 * The film's row for the first thread of any process, which was there at a time; 0: it was not.
 */
uint32_t lock_process(struct lock_book *book, pid_t pid, uint64_t began);

/*
 * How many processes have locks of their language's own that are not watched, as there were too
 * many such processes.
 */
uint64_t lock_unmet(const struct lock_book *book);

/* Tells the film of -e lock what could not be decided so far, and what was too short to be told. */
void lock_losses(const struct lock_book *book, uint32_t event);

#endif
