/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_OFF_CPU_H
#define SOURCES_SCHED_OFF_CPU_H

#include "sources/source.h"

/* off-cpu, run-queue, idle and lock: a part of the source sched. For its verbs see source.h. */

/* Returns 0 or -ENOMEM; then, too, off_cpu_free() frees what was made. */
int off_cpu_new(struct source *source);
void off_cpu_free(struct source *source); /* may be called without off_cpu_new() */

/* A film has begun, and has its events. */
void off_cpu_begin_film(struct source *source);

/* Handle records: of a wait that is over, and of the stack of a thread that ends one. */
void off_cpu_handle_wait(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover);
void off_cpu_handle_waker(struct source *source, const struct capture_record *record,
			  const struct capture_handover *handover);
void off_cpu_tick(struct source *source, uint64_t now);

/*
 * Reports the part that is over of waits that go on. What cannot be listed now is reported when it
 * ends.
 */
void off_cpu_closing(struct source *source);

#endif
