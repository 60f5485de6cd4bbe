// SPDX-License-Identifier: Apache-2.0
#include "base/globs.h"

#include <fnmatch.h>
#include <string.h>

static bool is_valid(const char *glob, size_t length)
{
	size_t stars = 0;

	for (size_t i = 0; i < length; i++)
		stars += glob[i] == '*';
	return length && length <= GLOB_MAX && stars <= GLOB_STARS_MAX;
}

bool globs_are_valid(const char *list)
{
	for (;; list++) {
		size_t length = strcspn(list, ",");

		if (!is_valid(list, length))
			return false;
		list += length;
		if (!*list)
			return true;
	}
}

bool globs_match(const char *list, const char *text)
{
	char glob[GLOB_MAX + 1];

	for (;; list++) {
		size_t length = strcspn(list, ",");

		if (length > GLOB_MAX)
			return false;
		memcpy(glob, list, length);
		glob[length] = 0;
		/* an error of fnmatch(), as of bytes that are no characters, does not match */
		if (!fnmatch(glob, text, 0))
			return true;
		list += length;
		if (!*list)
			return false;
	}
}
