/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REASONS_H
#define QUERY_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "film/reader.h"

/* A count and its reason: "unreadable memory". */
struct view_reason {
	char *words;
	uint64_t count;
};

struct view_reasons {
	struct view_reason *at;
	size_t count, room;
};

/* Adds to the count of a reason. known: hash of the text -> index in reasons. False: no memory. */
bool view_count_reason(struct view_reasons *reasons, struct map *known, const char *words,
		       size_t length, uint64_t count);

/* Sorts by count, largest first. */
void view_sort_reasons(struct view_reasons *reasons);

/*
 * Lists a film's losses of an event, of another event that is queried with it (0: none), and of no
 * single event, largest first. Returns 0 or -ENOMEM.
 */
int view_count_losses(struct view_reasons *losses, const struct film *film, uint32_t event,
		      uint32_t also);

/* The same for one event only; event 0: losses that belong to no single event. */
int view_count_own_losses(struct view_reasons *losses, const struct film *film, uint32_t event);

void view_free_reasons(struct view_reasons *reasons);

#endif
