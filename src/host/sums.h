/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SUMS_H
#define HOST_SUMS_H

#include "base/fail.h"
#include "store/store.h"

/*
 * A thread that sends a store's sums to ClickHouse (store/fleet/), and reports when it cannot, and
 * what was lost. ClickHouse that is away delays nothing else.
 */
struct sums_sender;

/*
 * The store must outlive it. *sender is null where the store has no such sums, or after an error.
 */
int sums_sender_start(struct store *store, struct sums_sender **sender, struct fail *why);

/* It is to end, also what is under way; from any thread. Null is allowed, as in the next. */
void sums_sender_stop(struct sums_sender *sender);
/* Awaits that, and frees it. */
void sums_sender_free(struct sums_sender *sender);

#endif
