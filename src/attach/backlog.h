/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_BACKLOG_H
#define ATTACH_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A queue of records that were moved out of a ring and are not read yet. All zero is empty. A
 * record has the layout that it has in the ring: a header of 8 bytes that begins with the record's
 * length, and the record, padded to a multiple of 8 bytes.
 */
struct backlog {
	struct backlog_piece *first, *last;
};

/* Appends a copy of a record of that many bytes, including its header; false: no memory. */
bool backlog_put(struct backlog *backlog, const void *record, uint32_t bytes);

/* The oldest record, including its header, aligned to 8 bytes; null: the queue is empty. */
const void *backlog_head(const struct backlog *backlog);

/* Removes the oldest record, which has that many bytes. */
void backlog_drop(struct backlog *backlog, uint32_t bytes);

void backlog_free(struct backlog *backlog);

#endif
