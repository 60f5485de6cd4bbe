/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_SCHED_H
#define SOURCES_SCHED_SCHED_H

#include "attach/links.h"
#include "bpf/sched/threads_abi.h"
#include "resolve/task_list.h"
#include "sources/sched/lock.h"
#include "sources/sched/objects.h"
#include "sources/sched/scheduler.h"
#include "sources/source.h"

/*
 * The source of all that the scheduler's hooks measure (bpf/sched/sched.bpf.c). Waits become
 * samples (off_cpu.c), switches the slices of threads (threads.c); either, or both, are requested.
 */
struct off_cpu;
struct threads;

/* Its events, in the order of source_type.events. */
enum sched_event {
	SCHED_OFF_CPU,
	SCHED_RUN_QUEUE,
	SCHED_IDLE,
	SCHED_LOCK,
	SCHED_THREADS,
};

/* The state of the source: what both parts share. */
struct sched {
	struct links links;
	struct scheduler scheduler;
	struct task_list *list;
	struct lock_book *locks; /* null: locks are not needed */
	struct objects *objects;
	struct off_cpu *off_cpu; /* null: not requested */
	struct threads *threads; /* null: not requested */
};

static inline struct sched *sched_of(const struct source *source)
{
	return source->state;
}

/* Three events that add up report waits: a user who wants one gets all of them. */
static inline bool sched_wants_waits(const struct source *source)
{
	return source_wants(source, SCHED_OFF_CPU) || source_wants(source, SCHED_RUN_QUEUE) ||
	       source_wants(source, SCHED_IDLE);
}

/*
 * Reads the list of tasks for one purpose. each(): as of task_list_read(), with the source as its
 * context; null if nothing is reported. Returns 0 or a negative errno.
 */
int sched_list(struct source *source, enum sched_listing what,
	       void (*each)(void *context, const struct capture_head *head,
			    const struct capture_handover *from));

#endif
