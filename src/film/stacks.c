// SPDX-License-Identifier: Apache-2.0
#include "film/stacks.h"

#include <errno.h>

#define COLUMNS 3

int stacks_pack(struct columns *c, uint32_t first, const struct film_stack *stacks, size_t count)
{
	uint64_t *column = malloc(count * sizeof(*column));
	size_t i;

	if (!column)
		return -ENOMEM;
	columns_begin(c);
	for (i = 0; i < count; i++)
		column[i] = stacks[i].parent ? first + i - stacks[i].parent : 0;
	columns_put(c, column, count);
	for (i = 0; i < count; i++)
		column[i] = stacks[i].frame;
	columns_put(c, column, count);
	for (i = 0; i < count; i++)
		column[i] = stacks[i].how;
	columns_put(c, column, count);
	free(column);
	return columns_end(c);
}

static int take_columns(struct column_reader *r, uint32_t first, uint32_t frames,
			struct film_stack *stacks, uint64_t *column, size_t count)
{
	size_t i;

	if (column_reader_get(r, column, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		/* a distance of the id itself would be another way to say "root": there is only one */
		if (column[i] >= first + i)
			return -EBADMSG;
		stacks[i].parent = column[i] ? (uint32_t)(first + i - column[i]) : 0;
	}
	if (column_reader_get(r, column, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (!column[i] || column[i] >= frames)
			return -EBADMSG;
		stacks[i].frame = (uint32_t)column[i];
	}
	if (column_reader_get(r, column, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (column[i] > UINT8_MAX)
			return -EBADMSG;
		stacks[i].how = (enum film_how)column[i];
	}
	return column_reader_end(r);
}

int stacks_unpack(struct column_reader *r, const void *data, size_t size, uint32_t first,
		  uint32_t frames, struct film_stack *stacks, size_t count)
{
	uint64_t *column;
	int err;

	if (!count || !first)
		return -EBADMSG;
	column = malloc(count * sizeof(*column));
	if (!column)
		return -ENOMEM;
	err = column_reader_begin(r, data, size, count, COLUMNS);
	if (!err)
		err = take_columns(r, first, frames, stacks, column, count);
	free(column);
	return err;
}
