/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include <stdint.h>

#include "film/reader.h"
#include "query/question.h"

/*
 * Which threads and which stacks of a film a filter keeps: a byte per id, 1 where it is kept. To be
 * freed with filter_kept_free(), also after a failure.
 */
struct filter_kept {
	uint8_t *threads, *stacks;
	/* a byte per frame: 1 where it matches --focus, --ignore; null: that was not asked for */
	uint8_t *focus, *ignored;
	uint64_t leaks, grown; /* as in struct filter */
};

/* Returns 0, -ENOMEM, or -EINVAL where a regular expression takes too long; *why filled. */
int filter_apply(const struct filter *f, const struct film *film, struct filter_kept *kept,
		 struct fail *why);
void filter_kept_free(struct filter_kept *kept);

#endif
