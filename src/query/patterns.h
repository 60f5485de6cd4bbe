/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_PATTERNS_H
#define QUERY_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/regex.h"
#include "base/vec.h"
#include "film/reader.h"

/*
 * Selects functions of a film by patterns that include or exclude, like the patterns of trace: a
 * glob, or "re:" and a regular expression (base/regex.h). The last pattern that matches decides; if
 * the first one excludes, all other functions are selected. Patterns are compared with the whole
 * name and with the name without parameters. All zero is empty.
 */
struct patterns {
	vec(struct pattern) all;
};

struct pattern {
	const char *glob; /* null: use regex */
	struct regex *regex;
	bool include;
};

/*
 * Adds a pattern. text must outlive the patterns. Returns 0, -ENOMEM, or -EINVAL with *why filled.
 */
int patterns_add(struct patterns *patterns, bool include, const char *text, struct fail *why);
void patterns_free(struct patterns *patterns);

/*
 * Sets *is_meant to whether a function with that name is selected. Returns 0, -ENOMEM, or -EINVAL
 * with *why filled if a regular expression takes too long.
 */
int patterns_match(const struct patterns *patterns, const char *name, bool *is_meant,
		   struct fail *why);

/*
 * Sets *frames to an array with a byte per frame, 1 if its function is selected; the caller frees
 * it. Returns as patterns_match().
 */
int patterns_frames(const struct patterns *patterns, const struct film *film, uint8_t **frames,
		    struct fail *why);

#endif
