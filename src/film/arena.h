/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_ARENA_H
#define FILM_ARENA_H

#include <stddef.h>

/* Strings that live as long as their owner and are freed all at once. All zero is empty. */
struct arena {
	struct arena_chunk *chunks;
	size_t left; /* bytes free in the newest chunk */
};

/* A terminated copy of the first size bytes of text; null: no memory. */
const char *arena_text(struct arena *a, const char *text, size_t size);
/* from's texts become texts of to; from is empty then. */
void arena_join(struct arena *to, struct arena *from);
void arena_free(struct arena *a);

#endif
