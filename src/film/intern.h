/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_INTERN_H
#define FILM_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds the id of something by its hash. The things themselves are in an array of the owner's,
 * whose index is the id: the owner compares, so two things with one hash never become one.
 *
 *	size_t at = intern_start(&index, hash);
 *	while ((id = intern_next(&index, hash, &at)))
 *		if (things.at[id] is it)
 *			return id;
 *	intern_add(&index, hash, new_id);
 *
 * All zero is empty.
 */
struct intern {
	struct intern_slot {
		uint32_t hash, id; /* id 0: free */
	} * slots;
	size_t count, room;
};

static inline size_t intern_start(const struct intern *t, uint64_t hash)
{
	return t->room ? hash & (t->room - 1) : 0;
}

/* The next id with this hash, or 0. */
uint32_t intern_next(const struct intern *t, uint64_t hash, size_t *at);

/* Adds an id (not 0); false: no memory. */
bool intern_add(struct intern *t, uint64_t hash, uint32_t id);
void intern_clear(struct intern *t); /* keeps its memory */
void intern_free(struct intern *t);

#endif
