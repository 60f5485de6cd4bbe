/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_REASONS_H
#define QUERY_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "film/reader.h"

/* A count with its reason, "unreadable memory". */
struct view_reason {
	char *words;
	uint64_t count;
};

struct view_reasons {
	struct view_reason *at;
	size_t count, room;
};

/* Adds to the count of a reason; known finds those that are there by the hash of their words. */
bool view_count_reason(struct view_reasons *reasons, struct map *known, const char *words,
		       size_t length, uint64_t count);

/* Most first. */
void view_sort_reasons(struct view_reasons *reasons);

/*
 * What a film lost of an event, and of another one (0: none) that is looked at with it, and of all
 * of them, most first. 0 or -ENOMEM.
 */
int view_count_losses(struct view_reasons *losses, const struct film *film, uint32_t event,
		      uint32_t also);

/* The same of one event alone; 0: of what a film lost of no single event. */
int view_count_own_losses(struct view_reasons *losses, const struct film *film, uint32_t event);

void view_free_reasons(struct view_reasons *reasons);

#endif
