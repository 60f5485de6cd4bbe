// SPDX-License-Identifier: Apache-2.0
/* Nearly all its time is in memcpy(), which is a symbol without a size in musl's library. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char from[4096], to[4096];

int main(int argc, char **argv)
{
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	clock_t end = clock() + (clock_t)(CLOCKS_PER_SEC * (argc > 1 ? atof(argv[1]) : 1));

	while (clock() < end)
		for (int i = 0; i < 20000; i++)
			copy(to, from, 1000 + (size_t)(i & 2047));
	return to[0];
}
