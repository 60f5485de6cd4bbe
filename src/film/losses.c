// SPDX-License-Identifier: Apache-2.0
#include "film/losses.h"

#include <string.h>

#include "film/batch.h"

static const char *const own_reasons[OWN_LOSSES] = {
	[LOST_ROW] = "film: no room for another process, thread, image or source file",
	[LOST_FUNCTION] = "film: no room for another function",
	[LOST_FRAME] = "film: no room for another frame",
	[LOST_NAME] = "film: no room for all names of a frame",
	[LOST_STACK] = "film: no room for another stack",
	[LOST_SAMPLE] = "film: no room for another sample before the next commit",
	[LOST_REASON] = "film: no room for another reason of a loss",
};

struct loss {
	uint32_t event;
	const char *reason;
	uint64_t count;
	bool changed;
};

/* In a table of at most max; false: it has no room. */
static bool set(struct losses *l, struct arena *texts, struct loss wanted, size_t max)
{
	vec_foreach (&l->all, loss) {
		if (loss->event != wanted.event || strcmp(loss->reason, wanted.reason))
			continue;
		loss->changed |= loss->count != wanted.count;
		loss->count = wanted.count;
		return true;
	}
	if (l->all.count >= max)
		return false;
	wanted.changed = true;
	wanted.reason = arena_text(texts, wanted.reason, strlen(wanted.reason));
	return wanted.reason && vec_push(&l->all, wanted);
}

void losses_set(struct losses *l, struct arena *texts, uint32_t event, const char *reason,
		uint64_t count)
{
	struct loss loss = {.event = event, .reason = reason, .count = count};

	/* the writer's own always have room */
	if (!set(l, texts, loss, FILM_LOSSES_MAX - OWN_LOSSES))
		l->own[LOST_REASON]++;
}

void losses_put(struct losses *l, struct arena *texts, struct buf *rows)
{
	size_t i;

	for (i = 0; i < OWN_LOSSES; i++) {
		struct loss own = {.reason = own_reasons[i], .count = l->own[i]};

		if (own.count)
			set(l, texts, own, FILM_LOSSES_MAX);
	}
	for (i = 0; i < l->all.count; i++) {
		struct loss *loss = &l->all.at[i];

		if (!loss->changed)
			continue;
		film_put_row(rows, FILM_ROW_LOSS, (uint64_t)i + 1, (uint64_t)loss->event,
			     loss->reason, loss->count);
		loss->changed = false;
	}
}

void losses_free(struct losses *l)
{
	vec_free(&l->all);
}
