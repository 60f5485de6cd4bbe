/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_WAIT_ROWS_H
#define SOURCES_SCHED_WAIT_ROWS_H

#include <stdint.h>

#include "sources/source.h"
#include "film/film.h"

/* Puts a wait of that time, ns, which ended at a moment, into the film; in parts, if it is long. */
void wait_rows_add(const struct source *source, uint32_t event, const struct film_wait *like,
		   uint64_t end, uint64_t time);

/*
 * Puts a stack that stands for count waits that are not told of one by one into the film. time: of
 * all of them, ns; 0: there are none.
 */
void wait_rows_add_short(const struct source *source, uint32_t event, const struct film_wait *like,
			 uint64_t end, uint64_t time, uint32_t count);

#endif
