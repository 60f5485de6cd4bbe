/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LANES_H
#define STORE_LANES_H

#include "query/lanes.h"
#include "store/ask.h"

/*
 * What threads did, slice by slice: answered by films. Of lanes the caller sets what is wanted
 * (query/lanes.h) and all else to 0; its time becomes that of the ask. The newest film is read
 * first, and others as far as the ask's patience lasts. To be freed with lanes_free(), also after
 * a failure. Returns 0 or a negative errno with *why filled; -EINVAL: the event has no slices.
 */
int store_lanes(struct store *store, const struct store_ask *ask, struct lanes *lanes,
		struct store_sum *sum, struct fail *why);

/*
 * Calls emit() with the slice of a thread at the beginning of the ask's time, and the film that has
 * it, while that is open; not at all if no film has it. A value of emit() other than 0 is returned.
 */
int store_slice(struct store *store, const struct store_ask *ask, const struct lane_id *lane,
		int (*emit)(void *context, const struct film *film, const struct lane_slice *found),
		void *context, struct fail *why);

#endif
