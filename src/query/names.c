// SPDX-License-Identifier: Apache-2.0
#include "query/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *name_pool_add(struct name_pool *pool, const char *s)
{
	char *copy = strdup(s);

	if (!copy || !vec_push(&pool->names, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

void name_pool_free(struct name_pool *pool)
{
	vec_foreach (&pool->names, name)
		free(*name);
	vec_free(&pool->names);
}

const char *name_of_image(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && slash[1])
		return slash + 1;
	return *path ? path : NAME_UNKNOWN;
}

const char *name_of_place(const struct film *film, const struct film_frame *frame, char *to,
			  size_t size)
{
	const char *image = name_of_image(film->images[frame->image].path);

	uint64_t place = frame->start ? frame->start : frame->address;

	/* JIT code lies elsewhere in each run, so its addresses say nothing: all of it is one place */
	if (frame->kind == FILM_FRAME_JIT)
		snprintf(to, size, "%.200s", image);
	else
		snprintf(to, size, "%.200s+0x%" PRIx64, image, place);
	return to;
}

const char *name_truncation(const char *name, size_t *length)
{
	static const char start[] = "[truncated: ";
	size_t all = strlen(name);

	if (all <= sizeof(start) || memcmp(name, start, sizeof(start) - 1) || name[all - 1] != ']')
		return NULL;
	*length = all - sizeof(start);
	return name + sizeof(start) - 1;
}
