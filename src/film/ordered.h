/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_ORDERED_H
#define FILM_ORDERED_H

#include <stdint.h>

#include "film/writer.h"

/*
 * The order of a catalogue in which it takes the fewest bytes: things that are alike, or refer to
 * each other, have ids that follow each other. Only a film whose whole catalogue is known before it
 * is written can have it: one that others are merged into.
 */

/* The new ids by the old ones; that of 0 is 0. All zero is empty. */
struct film_ordered {
	uint32_t *frames, *stacks;
	uint32_t frame_count, stack_count; /* the unused entry included */
};

/*
 * Gives all functions, frames and stacks of a writer other ids: frames by image and address,
 * functions by the first frame that each names, stacks as one goes through their tree, each before
 * those that it is the parent of. None of them may have been committed, nothing that was observed
 * may refer to the old ids, and none may be added afterwards. *ordered is the caller's to free. 0
 * or -ENOMEM, and then the ids are as they were.
 */
int film_order(struct film_writer *w, struct film_ordered *ordered);
void film_ordered_free(struct film_ordered *ordered);

#endif
