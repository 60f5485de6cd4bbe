/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash map from 64-bit keys to 64-bit values with open addressing, for code that runs once per
 * frame of every sample. All zero is empty. Any key is allowed.
 */
struct map {
	struct map_slot {
		uint64_t key, value;
	} * slots;
	uint8_t *used; /* 0 free, 1 used */
	size_t count, room;
};

/* A pointer to the value of key, or null. It is valid until the next put or remove. */
uint64_t *map_get(const struct map *m, uint64_t key);

/* Sets key to value; false: no memory. */
bool map_put(struct map *m, uint64_t key, uint64_t value);

/* Removes key; false: there was no such key. */
bool map_remove(struct map *m, uint64_t key);

void map_free(struct map *m);

/* Iterates over all pairs: for (size_t i = 0; map_next(&m, &i, &key, &value);) … */
bool map_next(const struct map *m, size_t *i, uint64_t *key, uint64_t *value);

/* Mixes all bits well (the finaliser of splitmix64). */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* FNV-1a over bytes, mixed once more at the end. */
static inline uint64_t hash_bytes(const void *bytes, size_t count)
{
	const uint8_t *b = bytes;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < count; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return hash_u64(h);
}

#endif
