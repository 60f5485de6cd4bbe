// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/vthreads_name.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns how many bytes of UTF-8 it has; 0: it has something that is not text. */
static size_t to_utf8(const char *name, char *to)
{
	size_t size = 0;

	for (size_t i = 0; i < VTHREADS_NAME_MAX && name[i]; i++) {
		uint8_t byte = (uint8_t)name[i];

		if (byte < 0x20 || (byte >= 0x7f && byte < 0xa0))
			return 0;
		if (byte >= 0x80)
			to[size++] = (char)(0xc0 | byte >> 6);
		to[size++] = (char)(byte < 0x80 ? byte : (0x80 | (byte & 0x3f)));
	}
	to[size] = 0;
	return size;
}

void vthreads_name(const char *name, uint64_t number, char to[VTHREADS_NAME_TEXT_MAX])
{
	if (!name || !to_utf8(name, to))
		snprintf(to, VTHREADS_NAME_TEXT_MAX, "virtual thread %" PRIu64, number);
}
