// SPDX-License-Identifier: Apache-2.0
#include "probe/internal.h"

#include "base/search.h"

struct span *spans_find(const struct spans *spans, uint64_t address, bool within)
{
	size_t low = search_first(spans->list.count, i, spans->list.at[i].address <= address);
	struct span *s;

	if (!low)
		return NULL;
	s = &spans->list.at[low - 1];
	return s->address == address || (within && address - s->address < s->size) ? s : NULL;
}
