// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <string.h>

#include "store/index_private.h"
#include "store/room.h"

size_t store_events(struct store *store, struct store_event *events, size_t max)
{
	struct index *index = store_index(store);
	const uint32_t known = index->event_count;
	size_t count = 0;

	for (uint32_t i = 1; i < known && count < max; i++) {
		bool is_known = false;

		/* the same with another unit */
		for (size_t k = 0; k < count; k++)
			is_known = is_known || !strcmp(events[k].name, index->events[i].name);
		if (!is_known)
			events[count++] =
				(struct store_event){index->events[i].name, index->events[i].unit};
	}
	index_free(index);
	return count;
}
