/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNED_H
#define BASE_OWNED_H

#include "base/map.h"

/* A map whose values are pointers to memory from malloc() that it owns. */

/* What it has for a key; null: nothing. */
static inline void *owned_get(const struct map *map, uint64_t key)
{
	const uint64_t *value = map_get(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

/*
 * What it has for a key, or has from now on: size bytes, all zero. Null: it has `most` already, or
 * there is no memory.
 */
void *owned_make(struct map *map, uint64_t key, size_t size, size_t most);

void owned_remove(struct map *map, uint64_t key);
void owned_free(struct map *map);

#endif
