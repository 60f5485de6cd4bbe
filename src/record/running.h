/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_RUNNING_H
#define RECORD_RUNNING_H

#include <stdbool.h>

struct activity;
struct executing;
struct samples;
struct selection;

/*
 * What runs before the first event is recorded. What must be known is read by then, as far as
 * there is time for that. What uses the CPU comes first.
 */
struct running {
	struct activity *activity;   /* who does; null: not wanted, or known */
	struct executing *executing; /* and where, of those that are named; null: as above */
};

/* Begins to look, while the probes are loaded. where: also at where in its code that is. */
void running_look(struct running *running, const struct selection *selection, bool where);

/* Reads what must be known. needs: of all sources, enum source_needs. */
void running_follow(struct running *running, struct samples *samples,
		    const struct selection *selection, unsigned int needs);

/* Frees what it has, if it was not followed. */
void running_forget(struct running *running);

#endif
