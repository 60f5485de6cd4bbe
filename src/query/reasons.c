// SPDX-License-Identifier: Apache-2.0
#include "query/reasons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

bool view_count_reason(struct view_reasons *reasons, struct map *known, const char *words,
		       size_t length, uint64_t count)
{
	uint64_t hash = hash_bytes(words, length), *index = map_get(known, hash);
	char *copy;

	/*
	 * only in a film made for it do two reasons share a hash, and then they are counted as one
	 */
	if (index) {
		reasons->at[*index].count += count;
		return true;
	}
	copy = strndup(words, length);
	if (!copy || !vec_push(reasons, (struct view_reason){copy, count})) {
		free(copy);
		return false;
	}
	return map_put(known, hash, reasons->count - 1);
}

static int most_first(const void *a, const void *b)
{
	const struct view_reason *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->words, y->words);
}

void view_sort_reasons(struct view_reasons *reasons)
{
	if (reasons->count)
		qsort(reasons->at, reasons->count, sizeof(*reasons->at), most_first);
}

/* Of two events (0: none), and, with of_film, what was lost of no single event. */
static int count_losses(struct view_reasons *losses, const struct film *film, bool of_film,
			uint32_t event, uint32_t also)
{
	struct map known = {0};
	bool done = true;

	for (size_t i = 0; done && i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];
		bool is_wanted =
			loss->event ? loss->event == event || loss->event == also : of_film;

		if (loss->count && is_wanted)
			done = view_count_reason(losses, &known, loss->reason, strlen(loss->reason),
						 loss->count);
	}
	view_sort_reasons(losses);
	map_free(&known);
	return done ? 0 : -ENOMEM;
}

int view_count_losses(struct view_reasons *losses, const struct film *film, uint32_t event,
		      uint32_t also)
{
	return count_losses(losses, film, true, event, also);
}

int view_count_own_losses(struct view_reasons *losses, const struct film *film, uint32_t event)
{
	return count_losses(losses, film, !event, event, 0);
}

void view_free_reasons(struct view_reasons *reasons)
{
	vec_foreach (reasons, reason)
		free(reason->words);
	vec_free(reasons);
}
