// SPDX-License-Identifier: Apache-2.0
#include "film/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

struct arena_chunk {
	struct arena_chunk *older;
	size_t room;
	char bytes[];
};

const char *arena_text(struct arena *a, const char *text, size_t size)
{
	char *copy;

	if (size >= SIZE_MAX - sizeof(struct arena_chunk))
		return NULL;
	if (!a->chunks || size >= a->left) {
		size_t room = size < CHUNK ? CHUNK : size + 1;
		struct arena_chunk *chunk = malloc(sizeof(*chunk) + room);

		if (!chunk)
			return NULL;
		chunk->older = a->chunks;
		chunk->room = a->left = room;
		a->chunks = chunk;
	}
	copy = a->chunks->bytes + (a->chunks->room - a->left);
	memcpy(copy, text, size);
	copy[size] = '\0';
	a->left -= size + 1;
	return copy;
}

void arena_join(struct arena *to, struct arena *from)
{
	struct arena_chunk **last = &to->chunks;

	while (*last)
		last = &(*last)->older;
	if (last == &to->chunks)
		to->left = from->left;
	*last = from->chunks;
	*from = (struct arena){0};
}

void arena_free(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *older = a->chunks->older;

		free(a->chunks);
		a->chunks = older;
	}
	a->left = 0;
}
