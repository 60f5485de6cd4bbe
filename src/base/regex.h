/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>

#include "base/fail.h"

/*
 * Matches users' regular expressions (PCRE2) against function names, which may contain any bytes.
 * Matching can take exponential time. Each match therefore has a limit, and so have all slow
 * matches of one expression together. After the second limit is reached, the expression matches
 * nothing, and regex_check() reports that.
 */
struct regex;

/* Returns 0, -ENOMEM, or -EINVAL with *why filled. */
int regex_compile(const char *text, struct regex **regex, struct fail *why);
void regex_free(struct regex *regex); /* null is allowed */

/* Whether the expression matches anywhere in text. One thread at a time per expression. */
bool regex_matches(struct regex *regex, const char *text);

/* 0, or -EINVAL with *why filled if a limit was reached: all results are invalid then. */
int regex_check(const struct regex *regex, struct fail *why);

#endif
