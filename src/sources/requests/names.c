// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/names.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

/* The most that are kept: programs can make up as many as they like. */
#define NAMES_MAX 16384

void requests_names_add(struct requests_names *names, const struct requests_unix_record *record)
{
	char text[REQUESTS_UNIX_NAME_MAX + 2] = "@", *kept;
	uint32_t size = record->size;
	bool is_path;

	if (record->head.size != sizeof(*record) || !size || size > REQUESTS_UNIX_NAME_MAX ||
	    map_get(&names->by_hash, record->hash))
		return;
	is_path = record->name[0];
	/* a path's length counts the zero behind it */
	size = is_path ? (uint32_t)strnlen((const char *)record->name, size) : size - 1;
	protocol_put_text(text + !is_path, sizeof(text) - 1, record->name + !is_path, size);
	kept = names->by_hash.count < NAMES_MAX ? strdup(text) : NULL;
	if (kept && map_put(&names->by_hash, record->hash, (uintptr_t)kept))
		return;
	free(kept);
	names->refused++;
}

const char *requests_names_find(const struct requests_names *names, uint64_t hash)
{
	const uint64_t *known = map_get(&names->by_hash, hash);

	return known ? (const char *)(uintptr_t)*known : NULL;
}

uint32_t requests_names_mark(const struct requests_names *names, struct film_writer *film,
			     const struct film_request *row)
{
	uint64_t hash = row->role == FILM_REQUEST_MADE ? row->peer[1] : row->own[1];
	const char *name = row->flags & FILM_REQUEST_UNIX ? requests_names_find(names, hash) : NULL;

	return name ? film_mark(film, name) : 0;
}

void requests_names_free(struct requests_names *names)
{
	uint64_t key, text;

	for (size_t i = 0; map_next(&names->by_hash, &i, &key, &text);)
		free((void *)(uintptr_t)text);
	map_free(&names->by_hash);
}
