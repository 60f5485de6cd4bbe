// SPDX-License-Identifier: Apache-2.0
#include "probe/internal.h"

struct span *spans_find(const struct spans *spans, uint64_t address, bool within)
{
	size_t low = 0, high = spans->list.count;
	struct span *s;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->list.at[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	s = &spans->list.at[low - 1];
	return s->address == address || (within && address - s->address < s->size) ? s : NULL;
}
