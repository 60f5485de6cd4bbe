/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include <stdint.h>

#include "film/reader.h"
#include "query/question.h"

/*
 * The threads and stacks of a film that a filter keeps: a byte per id, 1 if kept. Call
 * filter_kept_free(), also after an error.
 */
struct filter_kept {
	uint8_t *threads, *stacks;
	/* a byte per frame: 1 if it matches --focus, --ignore; null: no such option */
	uint8_t *focus, *ignored;
	uint64_t leaks, grown; /* as in struct filter */
};

/* Returns 0, -ENOMEM, or -EINVAL if a regular expression takes too long; *why is filled. */
int filter_apply(const struct filter *f, const struct film *film, struct filter_kept *kept,
		 struct fail *why);
void filter_kept_free(struct filter_kept *kept);

#endif
