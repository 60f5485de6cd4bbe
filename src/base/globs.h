/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GLOBS_H
#define BASE_GLOBS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A list of patterns of fnmatch(3), separated by commas: "shop-*,cart". A pattern has 1 to
 * GLOB_MAX bytes and at most GLOB_STARS_MAX stars, since fnmatch() tries each place of each star.
 */
enum {
	GLOB_MAX = 255,
	GLOB_STARS_MAX = 4,
};

/* Whether a list is valid: not empty, and each of its patterns within the limits. */
bool globs_are_valid(const char *list);

/* Whether one of the patterns of a valid list matches the whole text, byte for byte. */
bool globs_match(const char *list, const char *text);

#endif
