// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <string.h>
#include <strings.h>

enum {
	LENGTH_MAX = 100
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment: how many letters must be added, left out, replaced or exchanged with
 * the next one. rows[0] is of a[0..i), rows[1] and rows[2] of the two before.
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][LENGTH_MAX + 1] = {0};

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		memcpy(rows[2], rows[1], sizeof(rows[0]));
		memcpy(rows[1], rows[0], sizeof(rows[0]));
		rows[0][0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t replaced = rows[1][j - 1] + (a[i - 1] != b[j - 1]);

			rows[0][j] = least(replaced, least(rows[1][j], rows[0][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[0][j] = least(rows[0][j], rows[2][j - 2] + 1);
		}
	}
	return rows[0][b_length];
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	size_t given = strlen(nearest->given), length = strlen(name), changes;

	if (!given || given > LENGTH_MAX || length > LENGTH_MAX)
		return;
	changes = strcasecmp(nearest->given, name) ? distance(nearest->given, given, name, length)
						   : 0;
	/* a short name has few letters by which to know it */
	if (changes > (given > length ? given : length) / 3)
		return;
	if (nearest->name && changes >= nearest->distance)
		return;
	nearest->name = name;
	nearest->distance = changes;
}
