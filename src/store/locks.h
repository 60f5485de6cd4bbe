/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LOCKS_H
#define STORE_LOCKS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/names.h"
#include "store/ask.h"

enum {
	LOCKS_MAX = 20000, /* locks that are kept apart, and pairs of a lock and a holder */
	LOCK_LIST_MAX = 1000,
	LOCK_HOLDERS_SHOWN = 10,
};

/* A thread that held a lock while others waited: the mark, "[owner: flusher (12)]". */
struct store_holder {
	const char *name;
	uint64_t waits, total; /* total: ns */
};

/* The waits for one lock; name: the mark, "[mutex guard in app]", as in the flame graph by lock. */
struct store_lock {
	const char *name;
	uint64_t waits, total, longest;	  /* total and longest: ns */
	vec(struct store_holder) holders; /* most time first */
};

struct store_locks {
	struct store_sum sum;
	vec(struct store_lock) all; /* most time first */
	bool is_cut;		    /* there was no room for all locks and holders */

	struct map known;
	struct name_pool names;
};

/*
 * The locks that threads waited for, answered by films: of the event of locks, whichever the ask
 * names. To be freed with store_locks_free(), also after a failure. Returns 0 or a negative errno
 * with *why filled.
 */
int store_locks(struct store *store, const struct store_ask *ask, struct store_locks *locks,
		struct fail *why);
void store_locks_free(struct store_locks *locks);

#endif
