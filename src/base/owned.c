// SPDX-License-Identifier: Apache-2.0
#include "base/owned.h"

#include <stdlib.h>

void *owned_make(struct map *map, uint64_t key, size_t size, size_t most)
{
	void *found = owned_get(map, key);

	if (found || map->count >= most)
		return found;
	found = calloc(1, size);
	if (!found || map_put(map, key, (uintptr_t)found))
		return found;
	free(found);
	return NULL;
}

void owned_remove(struct map *map, uint64_t key)
{
	free(owned_get(map, key));
	map_remove(map, key);
}

void owned_free(struct map *map)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(map, &i, &key, &value);)
		free((void *)(uintptr_t)value);
	map_free(map);
}
