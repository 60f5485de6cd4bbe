/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOSSES_H
#define FILM_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "film/arena.h"

/* What the writer itself could not take. */
enum own_loss {
	LOST_ROW,
	LOST_FUNCTION,
	LOST_FRAME,
	LOST_NAME,
	LOST_STACK,
	LOST_SAMPLE,
	LOST_CALL,
	LOST_WAIT,
	LOST_PROBE,
	LOST_SUM,
	LOST_PAUSE,
	LOST_REQUEST,
	LOST_VALUE,
	LOST_GAUGE,
	LOST_LOG,
	LOST_WORK,
	LOST_REASON,
	OWN_LOSSES,
};

/* The losses of a film: those its caller counts, and the writer's own. All zero is empty. */
struct losses {
	vec(struct loss) all;	 /* index + 1 is the id */
	vec(struct loss) before; /* what the films before had: counts are totals over all of them */
	uint64_t own[OWN_LOSSES];
};

/* Sets the count of a loss. reason is copied to texts. */
void losses_set(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		uint64_t count);
/* The same of time in which nothing was seen, ms, as its reason says. */
void losses_set_time(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		     uint64_t ms);
/*
 * Counts that are given from now on include those of another film, before, and if that one was not
 * kept, only those of the films before it. False: no memory.
 */
bool losses_continue(struct losses *l, struct arena *texts, const struct losses *before, bool kept);
/* A loss that stands in the film already, in the order of its rows. False: no memory. */
bool losses_learn(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		  uint64_t count);
/* Appends the rows of all that changed since the last time. */
void losses_put(struct losses *l, struct arena *texts, struct buf *rows);
/* All that is lost by now, of any kind but time. */
uint64_t losses_sum(const struct losses *l);
/* The longest of the times, ms. */
uint64_t losses_longest(const struct losses *l);
void losses_free(struct losses *l);

#endif
