/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_LOCKS_H
#define QUERY_EXPLAIN_LOCKS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/histories.h"

/* A wait for a lock, of the event lock. */
struct explain_lock {
	uint64_t start, end, address;
	uint32_t thread, holder, place; /* as of a struct film_lock */
	uint8_t kind, sure;
};

struct explain_locks {
	vec(struct explain_lock) all; /* by thread, in order of their end */
	struct map first;	      /* thread: place of its first one */
};

/* Those that end behind from and begin before to. 0 or a negative errno with *why filled. */
int explain_locks_load(struct explain_locks *locks, struct film *film, uint32_t event,
		       uint64_t from, uint64_t to, struct fail *why);
void explain_locks_free(struct explain_locks *locks);

/* The one that a slice waited for; null: it is not known. */
const struct explain_lock *explain_lock_of(const struct explain_locks *locks,
					   const struct history_slice *slice);

/*
 * Tells the histories the holders of locks whose waits no thread has ended, as they go on or as
 * their time was over: they are what those waits wait for.
 */
void explain_locks_hold(const struct explain_locks *locks, struct histories *histories);

/* "mutex guard in app", "mutex 0x7f10" */
void explain_lock_words(const struct film *film, const struct explain_lock *lock, char *words,
			size_t size);

#endif
