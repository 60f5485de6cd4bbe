/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_LEDGER_H
#define STORE_FLEET_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * What a collector has sent: by event, service and hour, how many samples its index had, and how
 * many ClickHouse has confirmed. It lies in the store's folder, as sums.db. Lost, it costs that all
 * is sent once more, under the same name of the collector, which lies in a file of its own.
 */
struct ledger;

struct ledger_hour {
	const char *event, *service;
	uint64_t hour; /* since 1970 */
	uint64_t samples;
};

/* folder: the store's. Returns 0 or a negative errno with *why filled. */
int ledger_open(const char *folder, struct ledger **ledger, struct fail *why);
void ledger_free(struct ledger *ledger); /* null is allowed */

/* What the collector is called: 16 hexadecimal digits. */
const char *ledger_collector(const struct ledger *ledger);

/* A number that is higher than all before: that of the next batch. */
uint64_t ledger_batch(struct ledger *ledger);

/*
 * The index has that many samples now. *is_new: more than ClickHouse has confirmed. All of these
 * return 0 or a negative errno with *why filled.
 */
int ledger_see(struct ledger *ledger, const struct ledger_hour *hour, bool *is_new,
	       struct fail *why);
/* ClickHouse has them: all of the hours, or none. */
int ledger_confirm(struct ledger *ledger, const struct ledger_hour *hours, size_t count,
		   struct fail *why);
/*
 * Forgets hours before this one, which the index has no more. *lost: samples of them that were
 * never confirmed.
 */
int ledger_forget(struct ledger *ledger, uint64_t hour, uint64_t *lost, struct fail *why);

#endif
