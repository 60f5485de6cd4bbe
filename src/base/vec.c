// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"

#include <stdint.h>

bool vec_grow_raw(void **at, size_t *room, size_t wanted, size_t size)
{
	size_t more = *room + *room / 2;
	void *moved;

	if (more < wanted)
		more = wanted;
	if (more < 8)
		more = 8;
	if (more > SIZE_MAX / size)
		return false;
	moved = realloc(*at, more * size);
	if (!moved)
		return false;
	*at = moved;
	*room = more;
	return true;
}
