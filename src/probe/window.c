// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "probe/internal.h"

/* Functions lie next to each other: most are in memory already when they are asked for. */
#define AHEAD ((uint64_t)256 << 10)

int window_read(struct window *w, uint64_t address, uint64_t size, struct body *body)
{
	if (!size || size > BODY_MAX)
		return 0;
	if (address < w->address || address - w->address > w->held ||
	    size > w->held - (address - w->address)) {
		uint64_t wanted = size > AHEAD ? size : AHEAD;

		if (w->room < wanted && !vec_grow_raw((void **)&w->at, &w->room, (size_t)wanted, 1))
			return -ENOMEM;
		w->address = address;
		w->held = elf_image_read_code(w->image, address, w->at, (size_t)wanted);
		if (w->held < size)
			return 0;
	}
	*body = (struct body){w->at + (address - w->address), (size_t)size, address};
	return 1;
}

void window_free(struct window *w)
{
	free(w->at);
	*w = (struct window){0};
}
