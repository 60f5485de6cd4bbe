/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_ROUND_H
#define STORE_FLEET_ROUND_H

#include "store/ask_private.h"
#include "store/fleet/ledger.h"
#include "store/fleet/schema.h"

/* What export.c, names.c and rows.c share: one round of what a collector sends. */

/* An hour of a service that ClickHouse lacks. */
struct change {
	uint32_t event;
	struct ledger_hour hour; /* its strings lie in the index */
};

struct fleet_export {
	struct store *store;
	struct fleet *fleet;
	struct ledger *ledger;
	const atomic_bool *stop;
	struct map known;   /* functions and stacks that ClickHouse has, since the start */
	uint64_t from_hour; /* hours before it were looked at lately */
	uint64_t all_at;    /* ns of CLOCK_MONOTONIC: then all hours are looked at again */
};

/* All that a round knows. */
struct round {
	struct fleet_export *e;
	struct index *index;
	struct fleet_client client;
	vec(struct change) changes;
	struct buf rows[FLEET_TABLES];
	/* of the batch at hand; fresh: its functions and stacks that ClickHouse lacked */
	vec(struct ledger_hour) hours;
	vec(uint64_t) fresh;
	uint64_t batch;
	struct fail *why;
	/* of the event and service at hand */
	const struct change *change;
	const struct dictionary *dictionary;
	struct map fn_of;    /* by function */
	struct map value_of; /* by path */
	vec(uint64_t) fns;   /* of the stack at hand */
	vec(uint8_t) marks;
	struct map samples_of; /* by service and hour */
	struct map minute_of;  /* by series and minute: place in minutes */
	vec(struct cell_sum) minutes;
};

/* A question to the own index about hours (since 1970) of an event. */
struct asked round_asks(struct round *r, const struct store_ask *ask, uint32_t event,
			uint64_t first, uint64_t end);
/* Calls row() with the round for each row; 0 or a negative errno with *r->why filled. */
int round_each(struct round *r, struct asked *asked, enum sums_what what,
	       int (*row)(void *context, const struct sums_row *row));

int round_no_memory(struct round *r);

/*
 * rows.c: appends the rows of a change; is_first: it is the first of its event and hour. Returns 0
 * or a negative errno with *r->why filled; where memory runs out, a buffer of rows says so.
 */
int round_put(struct round *r, const struct change *change, bool is_first);

/*
 * names.c: sends the names that this collector has of places in ClickHouse that have none, also of
 * hosts that others film. Returns 0 or a negative errno with *r->why filled.
 */
int round_send_names(struct round *r);

#endif
