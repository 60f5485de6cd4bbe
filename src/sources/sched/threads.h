/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_THREADS_H
#define SOURCES_SCHED_THREADS_H

#include "film/film.h"
#include "sources/source.h"

/* threads: a part of the source sched. For its verbs see source.h. */

int sched_threads_new(struct source *source, struct fail *why);
void sched_threads_free(struct source *source); /* may be called without sched_threads_new() */

/* Before probes fire: lists all threads. Returns 0 or -errno. */
int sched_threads_list_before(struct source *source);
/* All probes are attached since a time: lists the threads again. Returns 0 or -errno. */
int sched_threads_list_since(struct source *source, uint64_t began);

/* Handle records: of a thread that is new, and of the stack of a wait. */
void sched_threads_handle_new(struct source *source, const void *of);
void sched_threads_handle_stack(struct source *source, const struct capture_record *record,
				const struct capture_handover *handover);

/*
 * The stack of a wait, which was resolved, after which a thread came in at a time, by its number.
 * lock: what the wait was for; null: no lock. released: whether the thread that ended the wait
 * released that by a call.
 */
void sched_threads_add_stack(struct source *source, uint32_t number, uint64_t in,
			     const struct samples_place *place, const struct film_lock *lock,
			     bool released);

void sched_threads_drained(struct source *source, uint64_t now);
void sched_threads_tick(struct source *source);
void sched_threads_closing(struct source *source);
void sched_threads_leave(struct source *source, uint64_t now);
void sched_threads_begin_film(struct source *source); /* another one than the first */
void sched_threads_finish(struct source *source, uint64_t now);

#endif
