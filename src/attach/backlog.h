/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_BACKLOG_H
#define ATTACH_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Records that were taken out of a ring and have not been read yet, in memory, first in, first out.
 * All zero is empty. Each record is as it lies in the ring: a header of 8 bytes that begins with
 * the record's length, then the record, up to a multiple of 8 bytes.
 */
struct backlog {
	struct backlog_piece *first, *last;
};

/* Appends a copy of a record of that many bytes, header included; false: no memory. */
bool backlog_put(struct backlog *backlog, const void *record, uint32_t bytes);

/* The oldest record, header included, aligned to 8 bytes; null: it is empty. */
const void *backlog_head(const struct backlog *backlog);

/* Drops the oldest record, which has that many bytes. */
void backlog_drop(struct backlog *backlog, uint32_t bytes);

void backlog_free(struct backlog *backlog);

#endif
