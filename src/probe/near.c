// SPDX-License-Identifier: Apache-2.0
/* Names like a pattern that matched none. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/functions.h"

#define NEAR_MAX  5
#define NAME_MAX_ 80 /* bytes of a name that are compared */

/* The pattern without what is not a letter of a name. */
static size_t plain(const char *pattern, char *to)
{
	size_t count = 0;

	if (!strncmp(pattern, "re:", 3))
		pattern += 3;
	for (; *pattern && *pattern != '@' && count < NAME_MAX_; pattern++)
		if (isalnum((unsigned char)*pattern) || *pattern == '_' || *pattern == ':')
			to[count++] = (char)tolower((unsigned char)*pattern);
	to[count] = 0;
	return count;
}

/* Levenshtein's distance: letters to change, insert or leave out. */
static size_t distance(const char *a, size_t length, const char *b, size_t limit)
{
	size_t row[NAME_MAX_ + 1], count = strlen(b);

	if (count > NAME_MAX_)
		count = NAME_MAX_;
	if ((count > length ? count - length : length - count) > limit)
		return limit + 1;
	for (size_t j = 0; j <= count; j++)
		row[j] = j;
	for (size_t i = 1; i <= length; i++) {
		size_t corner = row[0], best = i;

		row[0] = i;
		for (size_t j = 1; j <= count; j++) {
			size_t change = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			row[j] = corner + 1 < change ? corner + 1 : change;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			if (row[j] < best)
				best = row[j];
		}
		if (best > limit)
			return limit + 1;
	}
	return row[count];
}

/* How far a name is from the pattern; larger than limit: too far. */
static size_t far(const char *wanted, size_t length, const char *name, size_t limit)
{
	char lower[NAME_MAX_ + 1];
	const char *last;
	size_t d, tail;

	plain(name, lower);
	d = distance(wanted, length, lower, limit);
	/* without the namespaces that users do not type */
	last = strrchr(lower, ':');
	if (last) {
		tail = distance(wanted, length, last + 1, limit);
		d = tail < d ? tail : d;
	}
	if (d > limit && length >= 3 && strstr(lower, wanted))
		return limit;
	return d;
}

size_t probe_near(const struct probe_functions *all, const char *pattern, const char **near,
		  size_t count)
{
	size_t scores[NEAR_MAX], found = 0, length, limit;
	char wanted[NAME_MAX_ + 1];

	if (count > NEAR_MAX)
		count = NEAR_MAX;
	length = plain(pattern, wanted);
	limit = length / 3 ? length / 3 : 1;
	for (size_t i = 0; i < all->count && length && count; i++) {
		size_t score = far(wanted, length, all->at[i].name, limit), at;

		if (score > limit || (found == count && score >= scores[found - 1]))
			continue;
		for (at = 0; at < found && strcmp(near[at], all->at[i].name) != 0; at++)
			;
		if (at < found)
			continue;
		at = found < count ? found++ : found - 1;
		for (; at && scores[at - 1] > score; at--) {
			scores[at] = scores[at - 1];
			near[at] = near[at - 1];
		}
		scores[at] = score;
		near[at] = all->at[i].name;
	}
	return found;
}
