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
	LOST_REASON,
	OWN_LOSSES,
};

/* The losses of a film: those its caller counts, and the writer's own. All zero is empty. */
struct losses {
	vec(struct loss) all; /* index + 1 is the id */
	uint64_t own[OWN_LOSSES];
};

/* Sets the count of a loss. reason is copied to texts. */
void losses_set(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		uint64_t count);
/* Appends the rows of all that changed since the last time. */
void losses_put(struct losses *l, struct arena *texts, struct buf *rows);
void losses_free(struct losses *l);

#endif
