/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_SUMS_H
#define SOURCES_CALLS_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "film/film.h"

/*
 * What the kernel side sums up by function with --summary, as what was added from one look to the
 * next.
 */
struct calls_sums;
struct probes;

/* After loading. Returns 0 or a negative errno. */
int calls_sums_new(struct probes *probes, struct calls_sums **sums);
void calls_sums_free(struct calls_sums *sums);

/*
 * Makes room for that many functions in all, before they are probed. Returns 0 or a negative errno.
 */
int calls_sums_reserve(struct calls_sums *sums, size_t functions);

/* From now on; what was before belongs to no look. */
void calls_sums_start(struct calls_sums *sums);

/* The shortest call of a function so far, in ns; 0: there was none. */
uint64_t calls_sums_least(struct calls_sums *sums, uint32_t function);

/*
 * emit() is called for each function that was called since the last look; the frame of sum is not
 * set, min and max are those since the start.
 */
void calls_sums_flush(struct calls_sums *sums, uint64_t now,
		      void (*emit)(void *context, uint32_t function, uint64_t from, uint64_t to,
				   const struct film_sum *sum),
		      void *context);

#endif
