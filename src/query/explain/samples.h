/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_SAMPLES_H
#define QUERY_EXPLAIN_SAMPLES_H

#include "film/reader.h"

/* The samples of on-cpu, by thread in order of time. All zero is empty. */
struct explain_samples {
	struct explain_sample {
		uint64_t time;
		uint32_t thread, stack;
	} * at;
	size_t count, room;
	size_t *first; /* by thread; null: there is none */
};

/* 0 or a negative errno with *why filled; explain_samples_free() is needed in either case. */
int explain_samples_load(struct explain_samples *samples, struct film *film, uint32_t event,
			 uint64_t from, uint64_t to, struct fail *why);
void explain_samples_free(struct explain_samples *samples);

/* Those of a thread in [from, to): the first one, and *count of them. */
const struct explain_sample *explain_samples_in(const struct explain_samples *samples,
						uint32_t thread, uint64_t from, uint64_t to,
						size_t *count);

#endif
