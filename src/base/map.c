// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"

#include <stdlib.h>

static size_t home_of(const struct map *m, uint64_t key)
{
	return hash_u64(key) & (m->room - 1);
}

/* The slot that holds key, or the free one where it would go. The map is never full. */
static size_t find(const struct map *m, uint64_t key)
{
	size_t i = home_of(m, key);

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & (m->room - 1);
	return i;
}

static bool grow(struct map *m)
{
	struct map bigger = {.room = m->room ? m->room * 2 : 16};
	size_t i;

	bigger.slots = malloc(bigger.room * sizeof(*bigger.slots));
	bigger.used = calloc(bigger.room, 1);
	if (!bigger.slots || !bigger.used) {
		map_free(&bigger);
		return false;
	}
	for (i = 0; i < m->room; i++) {
		size_t to;

		if (!m->used[i])
			continue;
		to = find(&bigger, m->slots[i].key);
		bigger.slots[to] = m->slots[i];
		bigger.used[to] = 1;
	}
	bigger.count = m->count;
	map_free(m);
	*m = bigger;
	return true;
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	size_t i;

	if (!m->count)
		return NULL;
	i = find(m, key);
	return m->used[i] ? &m->slots[i].value : NULL;
}

bool map_put(struct map *m, uint64_t key, uint64_t value)
{
	size_t i;

	if ((m->count + 1) * 4 > m->room * 3 && !grow(m))
		return false;
	i = find(m, key);
	if (!m->used[i])
		m->count++;
	m->used[i] = 1;
	m->slots[i] = (struct map_slot){key, value};
	return true;
}

bool map_remove(struct map *m, uint64_t key)
{
	size_t hole, i;

	if (!m->count)
		return false;
	hole = find(m, key);
	if (!m->used[hole])
		return false;
	/* pull back the items that were pushed past the hole, so that no mark is needed for it */
	for (i = (hole + 1) & (m->room - 1); m->used[i]; i = (i + 1) & (m->room - 1)) {
		size_t home = home_of(m, m->slots[i].key);

		if (((i - home) & (m->room - 1)) < ((i - hole) & (m->room - 1)))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->used[hole] = 0;
	m->count--;
	return true;
}

bool map_next(const struct map *m, size_t *i, uint64_t *key, uint64_t *value)
{
	for (; *i < m->room; ++*i) {
		if (!m->used[*i])
			continue;
		*key = m->slots[*i].key;
		*value = m->slots[*i].value;
		++*i;
		return true;
	}
	return false;
}

void map_free(struct map *m)
{
	free(m->slots);
	free(m->used);
	*m = (struct map){0};
}
