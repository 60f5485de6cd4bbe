/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_KEEPER_H
#define HOST_KEEPER_H

#include "base/fail.h"
#include "host/cost.h"
#include "store/store.h"

/*
 * A thread that does a store's housekeeping, and measures what the process takes.
 */
struct keeper;

/* store and cost must outlive it. *keeper is null after an error. */
int keeper_start(struct store *store, struct cost *cost, struct keeper **keeper, struct fail *why);

/* It is to end; from any thread. Null is allowed, as in the next. */
void keeper_stop(struct keeper *keeper);
/* Awaits that, and frees it. */
void keeper_free(struct keeper *keeper);

#endif
