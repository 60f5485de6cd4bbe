/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_LOCKS_H
#define QUERY_EXPLAIN_LOCKS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/histories.h"

struct explain_locks {
	vec(struct slice_lock) all; /* by thread, in order of their end */
	struct map first;	    /* thread: place of its first one */
};

/*
 * Those of the histories, and those of an event of locks (0: there is none) that end behind from
 * and begin before to. 0 or a negative errno with *why filled.
 */
int explain_locks_load(struct explain_locks *locks, const struct histories *histories,
		       struct film *film, uint32_t event, uint64_t from, uint64_t to,
		       struct fail *why);
void explain_locks_free(struct explain_locks *locks);

/* The one that a slice waited for; null: it is not known. */
const struct slice_lock *explain_lock_of(const struct explain_locks *locks,
					 const struct slice *slice);

/*
 * Tells the histories the holders of locks that have not ended the waits for them, as those go on,
 * their time was over, or something else has ended them: they are what those waits wait for.
 */
void explain_locks_hold(const struct explain_locks *locks, struct histories *histories);

#endif
