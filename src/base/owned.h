/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNED_H
#define BASE_OWNED_H

#include "base/map.h"

/* A map that owns its values, which are pointers from malloc(). */

/* The value of key; null: none. */
static inline void *owned_get(const struct map *map, uint64_t key)
{
	const uint64_t *value = map_get(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

/*
 * The value of key, which is added if there is none: size zero bytes. Null: the map already has
 * `most` entries, or no memory.
 */
void *owned_make(struct map *map, uint64_t key, size_t size, size_t most);

void owned_remove(struct map *map, uint64_t key);
void owned_free(struct map *map);

#endif
