/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SPANS_H
#define STORE_SPANS_H

#include "store/spans_db.h"
#include "store/store.h"

/*
 * The spans of a store (store/spans_db.h), which clients send. They go by age as films do, but do
 * not count against the store's size, as they have a limit of their own. A damaged database is
 * moved aside, and another one takes its place. From any thread.
 */

/* 0, or a negative errno with *why filled: nothing was kept. */
int store_spans_add(struct store *store, const struct span *spans, size_t count,
		    struct spans_added *added, struct fail *why);

/* To be freed with spans_found_free() in either case. A store that never had any finds none. */
int store_spans_find(struct store *store, const struct spans_wanted *wanted,
		     struct spans_found *found, struct fail *why);

struct store_spans_status {
	uint64_t spans;		   /* that are kept */
	uint64_t taken, again;	   /* since the start; again: those that were there before */
	uint64_t dropped, removed; /* for want of room, and by age */
};
void store_spans_status(struct store *store, struct store_spans_status *status);

#endif
