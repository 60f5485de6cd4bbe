// SPDX-License-Identifier: Apache-2.0
#include "attach/backlog.h"

#include <stdlib.h>
#include <string.h>

/*
 * Large enough for malloc() to give them back to the kernel when they are freed. Records of up to
 * 64 KiB (stacks that were handed over) leave a quarter of a piece unused at most.
 */
#define PIECE_BYTES (256u << 10)

struct backlog_piece {
	struct backlog_piece *next;
	uint32_t room, used, read; /* of bytes */
	_Alignas(8) uint8_t bytes[];
};

static bool add_piece(struct backlog *backlog, uint32_t least)
{
	uint32_t room = least < PIECE_BYTES ? PIECE_BYTES : least;
	struct backlog_piece *piece = malloc(sizeof(*piece) + room);

	if (!piece)
		return false;
	*piece = (struct backlog_piece){.room = room};
	*(backlog->last ? &backlog->last->next : &backlog->first) = piece;
	backlog->last = piece;
	return true;
}

bool backlog_put(struct backlog *backlog, const void *record, uint32_t bytes)
{
	struct backlog_piece *piece = backlog->last;

	if ((!piece || piece->room - piece->used < bytes) && !add_piece(backlog, bytes))
		return false;
	piece = backlog->last;
	memcpy(piece->bytes + piece->used, record, bytes);
	piece->used += bytes;
	return true;
}

const void *backlog_head(const struct backlog *backlog)
{
	return backlog->first ? backlog->first->bytes + backlog->first->read : NULL;
}

void backlog_drop(struct backlog *backlog, uint32_t bytes)
{
	struct backlog_piece *piece = backlog->first;

	piece->read += bytes;
	if (piece->read < piece->used)
		return;
	backlog->first = piece->next;
	if (!backlog->first)
		backlog->last = NULL;
	free(piece);
}

void backlog_free(struct backlog *backlog)
{
	struct backlog_piece *piece, *next;

	for (piece = backlog->first; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	*backlog = (struct backlog){0};
}
