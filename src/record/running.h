/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_RUNNING_H
#define RECORD_RUNNING_H

#include <stdbool.h>

struct activity;
struct executing;
struct samples;
struct selection;

/*
 * Finds the processes that already run before the first event is recorded, and reads what must be
 * known about them, as far as there is time. Processes that use the CPU come first.
 */
struct running {
	struct activity *activity;   /* CPU use of processes; null: not wanted, or read already */
	struct executing *executing; /* where selected processes execute; null: as above */
};

/*
 * Starts to look, while the probes are loaded. where: also look where in its code a process
 * executes.
 */
void running_look(struct running *running, const struct selection *selection, bool where);

/* Reads what must be known. needs: the set of enum source_needs of all sources. */
void running_follow(struct running *running, struct samples *samples,
		    const struct selection *selection, unsigned int needs);

/* Frees everything if running_follow() was not called. */
void running_forget(struct running *running);

#endif
