/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_SLOW_H
#define SOURCES_CALLS_SLOW_H

#include <stddef.h>
#include <stdint.h>

#include "film/film.h"

/*
 * --slower: of the calls of one track, those that took at least so long are kept, with all that
 * they called. A call comes after what it called, so calls wait until the outermost one around them
 * has ended.
 */
struct calls_slow;

typedef void calls_slow_keep(void *context, const struct film_call *call);

/* threshold in ns. keep is called for what is kept, in the order in which it was given. */
struct calls_slow *calls_slow_new(uint64_t threshold, calls_slow_keep *keep, void *context);
/* Without keeping what still waits. */
void calls_slow_free(struct calls_slow *slow);

/* track: any small number. */
void calls_slow_add(struct calls_slow *slow, uint32_t track, const struct film_call *call);

/* The end: what waits is judged by what is known. */
void calls_slow_finish(struct calls_slow *slow);

/*
 * Calls that were not kept because they were fast; and those that could not be waited for, since
 * too many did: an outer call may have been slow.
 */
void calls_slow_counts(const struct calls_slow *slow, uint64_t *dropped, uint64_t *not_waited_for);

#endif
