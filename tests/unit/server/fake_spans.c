// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that keeps and finds spans: two, with hostile names. */
#include "fake_store.h"

#include <errno.h>
#include <stdlib.h>

#include "store/spans.h"

int store_spans_add(struct store *store, const struct span *spans, size_t count,
		    struct spans_added *added, struct fail *why)
{
	(void)store;
	(void)spans;
	(void)why;
	*added = (struct spans_added){.kept = count};
	return 0;
}

int store_spans_find(struct store *store, const struct spans_wanted *wanted,
		     struct spans_found *found, struct fail *why)
{
	(void)store;
	(void)why;
	*found = (struct spans_found){.at = calloc(2, sizeof(*found->at)), .is_cut = true};
	if (!found->at)
		return -ENOMEM;
	for (uint8_t i = 0; i < 2 && i < wanted->limit; i++)
		found->at[found->count++] = (struct span){
			.trace = {1},
			.id = {(uint8_t)(i + 1)},
			.parent = {i},
			.start = 1732199520000000000ull + i,
			.end = 1732199520000001000ull,
			.pid = 100,
			.tid = 101,
			.kind = SPAN_KIND_SERVER,
			.status = SPAN_STATUS_ERROR,
			.host = fake_hostile,
			.service = fake_hostile,
			.name = fake_hostile,
		};
	return 0;
}

void store_spans_status(struct store *store, struct store_spans_status *status)
{
	(void)store;
	*status = (struct store_spans_status){.spans = 2, .taken = 3, .dropped = 1};
}
