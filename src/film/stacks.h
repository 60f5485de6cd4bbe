/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_STACKS_H
#define FILM_STACKS_H

#include "film/column.h"
#include "film/film.h"

/*
 * The layout of a block of stacks with the ids first, first + 1 …: the columns parent (as id - parent,
 * 0 for a root), frame (id) and how. As rows they would cost six times as much.
 */

int stacks_pack(struct columns *c, uint32_t first, const struct film_stack *stacks, size_t count);

/*
 * Fills count stacks. -EBADMSG when the data is not valid, a parent does not come before its child,
 * or a frame is 0 or from frames on.
 */
int stacks_unpack(struct column_reader *r, const void *data, size_t size, uint32_t first,
		  uint32_t frames, struct film_stack *stacks, size_t count);

#endif
