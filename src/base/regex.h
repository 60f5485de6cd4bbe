/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>

#include "base/fail.h"

/*
 * Regular expressions of users, in PCRE2's dialect, on names of functions, which may hold any
 * bytes. An expression can take exponential time: each match has a limit, and all matches of one
 * expression that are slow have one together. When it is reached, nothing matches any more, and
 * regex_check() says so.
 */
struct regex;

/* Returns 0, -ENOMEM, or -EINVAL with *why filled. */
int regex_compile(const char *text, struct regex **regex, struct fail *why);
void regex_free(struct regex *regex); /* null is allowed */

/* Whether it matches anywhere in a text. By one thread at a time. */
bool regex_matches(struct regex *regex, const char *text);

/* 0, or -EINVAL with *why filled where it took too long: what was matched is worth nothing then. */
int regex_check(const struct regex *regex, struct fail *why);

#endif
