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
 * Functions of a film by patterns that include or exclude, as when they were chosen to be traced: a
 * glob, or with "re:" a regular expression (base/regex.h); the last one that matches decides; if
 * the first one excludes, all others are meant. Compared with the whole name and with the name
 * without parameters. All zero is empty.
 */
struct patterns {
	vec(struct pattern) all;
};

struct pattern {
	const char *glob; /* null: regex */
	struct regex *regex;
	bool include;
};

/* text must outlive the patterns. Returns 0, -ENOMEM, or -EINVAL with *why filled. */
int patterns_add(struct patterns *patterns, bool include, const char *text, struct fail *why);
void patterns_free(struct patterns *patterns);

/*
 * Whether a function of that name is meant. -ENOMEM, or -EINVAL where a regular expression takes
 * too long with *why filled.
 */
int patterns_match(const struct patterns *patterns, const char *name, bool *is_meant,
		   struct fail *why);

/*
 * *frames: a byte per frame, 1 where its function is meant; to be freed. Returns 0, -ENOMEM, or
 * -EINVAL where a regular expression takes too long; *why filled.
 */
int patterns_frames(const struct patterns *patterns, const struct film *film, uint8_t **frames,
		    struct fail *why);

#endif
