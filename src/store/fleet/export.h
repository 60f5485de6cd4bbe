/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_EXPORT_H
#define STORE_FLEET_EXPORT_H

#include "store/fleet/fleet.h"
#include "store/store.h"

/* What a collector sends of its index to ClickHouse. Used by one thread. */
struct fleet_export;

/*
 * Of a store that has such sums (store_fleet()). stop: ends what is under way. Both must outlive
 * it.
 */
int fleet_export_new(struct store *store, const atomic_bool *stop, struct fleet_export **e,
		     struct fail *why);
void fleet_export_free(struct fleet_export *e); /* null is allowed */

/*
 * Sends the hours of services that have more samples than ClickHouse has confirmed. now: ns since
 * 1970. Returns 0 when all was confirmed; else a negative errno with *why filled, and the rest is
 * sent by a later call.
 */
int fleet_export_round(struct fleet_export *e, uint64_t now, struct fail *why);

#endif
