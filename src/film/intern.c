// SPDX-License-Identifier: Apache-2.0
#include "film/intern.h"

#include <stdlib.h>
#include <string.h>

/*
 * The slots keep the low half of a hash: it also says where the slot belongs when the table grows.
 */
static void put(struct intern_slot *slots, size_t room, uint32_t hash, uint32_t id)
{
	size_t at = hash & (room - 1);

	while (slots[at].id)
		at = (at + 1) & (room - 1);
	slots[at] = (struct intern_slot){hash, id};
}

uint32_t intern_next(const struct intern *t, uint64_t hash, size_t *at)
{
	while (t->room && t->slots[*at].id) {
		const struct intern_slot *slot = &t->slots[*at];

		*at = (*at + 1) & (t->room - 1);
		if (slot->hash == (uint32_t)hash)
			return slot->id;
	}
	return 0;
}

static bool grow(struct intern *t)
{
	size_t room = t->room ? t->room * 2 : 64, i;
	struct intern_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return false;
	for (i = 0; i < t->room; i++) {
		if (t->slots[i].id)
			put(slots, room, t->slots[i].hash, t->slots[i].id);
	}
	free(t->slots);
	t->slots = slots;
	t->room = room;
	return true;
}

bool intern_add(struct intern *t, uint64_t hash, uint32_t id)
{
	if ((t->count + 1) * 4 > t->room * 3 && !grow(t))
		return false;
	put(t->slots, t->room, (uint32_t)hash, id);
	t->count++;
	return true;
}

void intern_clear(struct intern *t)
{
	if (t->count)
		memset(t->slots, 0, t->room * sizeof(*t->slots));
	t->count = 0;
}

void intern_free(struct intern *t)
{
	free(t->slots);
	*t = (struct intern){0};
}
