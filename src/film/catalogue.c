// SPDX-License-Identifier: Apache-2.0
#include "film/catalogue.h"

#include <errno.h>
#include <string.h>

#include "film/schema.h"

/* Puts a column whose number in row i is value, an expression of i. column is scratch. */
#define put_column(c, column, count, value)          \
	do {                                         \
		for (size_t i = 0; i < (count); i++) \
			(column)[i] = (value);       \
		columns_put((c), (column), (count)); \
	} while (0)

static uint64_t *begin_pack(struct columns *c, size_t count)
{
	columns_begin(c);
	return malloc(count * sizeof(uint64_t));
}

static int end_pack(struct columns *c, uint64_t *column)
{
	free(column);
	return columns_end(c);
}

/* The next column, if each of its numbers is less than limit. */
static int get_column(struct column_reader *r, uint64_t *column, size_t count, uint64_t limit)
{
	size_t i;

	if (column_reader_get(r, column, count))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (column[i] >= limit)
			return -EBADMSG;
	}
	return 0;
}

static uint64_t *begin_unpack(struct column_reader *r, const void *data, size_t size, size_t count,
			      unsigned int columns, size_t text, int *err)
{
	uint64_t *column = malloc(count * sizeof(*column));

	*err = -EBADMSG;
	if (!column)
		*err = -ENOMEM;
	else if (count)
		*err = column_reader_begin(r, data, size, count, columns, text);
	if (!*err)
		return column;
	free(column);
	return NULL;
}

static int end_unpack(struct column_reader *r, uint64_t *column, int err)
{
	free(column);
	return err ? err : column_reader_end(r);
}

size_t functions_per_block(const struct film_function *functions, size_t count)
{
	size_t text = 0, n;

	for (n = 0; n < count && n < FILM_BLOCK_MAX; n++) {
		text += strlen(functions[n].name);
		if (n && text > FILM_BLOCK_TEXT_MAX)
			break;
	}
	return n;
}

int functions_pack(struct columns *c, const struct film_function *functions, size_t count)
{
	uint64_t *column = begin_pack(c, count);
	size_t n;

	if (!column)
		return -ENOMEM;
	put_column(c, column, count, functions[i].image);
	put_column(c, column, count, functions[i].kind);
	put_column(c, column, count, strlen(functions[i].name));
	for (n = 0; n < count; n++)
		columns_put_bytes(c, functions[n].name, strlen(functions[n].name));
	return end_pack(c, column);
}

static int take_functions(struct column_reader *r, uint32_t images, struct arena *texts,
			  struct film_function *functions, uint64_t *column, size_t count)
{
	size_t i;

	if (get_column(r, column, count, images))
		return -EBADMSG;
	for (i = 0; i < count; i++)
		functions[i].image = (uint32_t)column[i];
	if (get_column(r, column, count, UINT8_MAX + 1))
		return -EBADMSG;
	for (i = 0; i < count; i++)
		functions[i].kind = (enum film_frame_kind)column[i];
	if (get_column(r, column, count, FILM_TEXT_MAX + 1))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		const void *name = column_reader_bytes(r, (size_t)column[i]);

		if (!name || memchr(name, 0, (size_t)column[i]))
			return -EBADMSG;
		functions[i].name = arena_text(texts, name, (size_t)column[i]);
		if (!functions[i].name)
			return -ENOMEM;
	}
	return 0;
}

int functions_unpack(struct column_reader *r, const void *data, size_t size, uint32_t images,
		     struct arena *texts, struct film_function *functions, size_t count)
{
	int err;
	uint64_t *column =
		begin_unpack(r, data, size, count, 3, FILM_BLOCK_TEXT_MAX + FILM_TEXT_MAX, &err);

	if (!column)
		return err;
	err = take_functions(r, images, texts, functions, column, count);
	return end_unpack(r, column, err);
}

int places_pack(struct columns *c, const struct film_place *places, size_t count)
{
	uint64_t *column = begin_pack(c, count);

	if (!column)
		return -ENOMEM;
	put_column(c, column, count, places[i].image);
	put_column(c, column, count, places[i].kind);
	put_column(c, column, count, places[i].address);
	return end_pack(c, column);
}

int places_unpack(struct column_reader *r, const void *data, size_t size, uint32_t images,
		  struct film_place *places, size_t count)
{
	int err;
	uint64_t *column = begin_unpack(r, data, size, count, 3, 0, &err);
	size_t i;

	if (!column)
		return err;
	err = get_column(r, column, count, images);
	for (i = 0; !err && i < count; i++)
		places[i].image = (uint32_t)column[i];
	if (!err)
		err = get_column(r, column, count, UINT8_MAX + 1);
	for (i = 0; !err && i < count; i++)
		places[i].kind = (uint8_t)column[i];
	if (!err)
		err = column_reader_get(r, column, count);
	for (i = 0; !err && i < count; i++)
		places[i].address = column[i];
	return end_unpack(r, column, err);
}

size_t namings_per_block(const struct film_naming *namings, size_t count)
{
	if (count <= FILM_BLOCK_MAX)
		return count;
	/* depths end far below FILM_BLOCK_MAX, so a first row of a frame is not far */
	for (count = FILM_BLOCK_MAX; namings[count].depth; count--)
		;
	return count;
}

int namings_pack(struct columns *c, const struct film_naming *namings, size_t count)
{
	uint64_t *column = begin_pack(c, count);

	if (!column)
		return -ENOMEM;
	put_column(c, column, count, namings[i].frame - (i ? namings[i - 1].frame : 0));
	put_column(c, column, count, namings[i].depth);
	put_column(c, column, count, namings[i].function);
	put_column(c, column, count, namings[i].file);
	put_column(c, column, count, namings[i].line);
	return end_pack(c, column);
}

/* Frames in order, each with the depths 0, 1, 2 …. */
static int take_frames(struct column_reader *r, uint32_t frames, struct film_naming *namings,
		       uint64_t *column, size_t count)
{
	uint64_t frame = 0;
	size_t i;

	if (get_column(r, column, count, frames))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		frame += column[i];
		if (!frame || frame >= frames)
			return -EBADMSG;
		namings[i].frame = (uint32_t)frame;
	}
	if (get_column(r, column, count, FILM_DEPTH_MAX + 1))
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		bool same = i && namings[i].frame == namings[i - 1].frame;

		namings[i].depth = (uint32_t)column[i];
		if (namings[i].depth != (same ? namings[i - 1].depth + 1 : 0))
			return -EBADMSG;
	}
	return 0;
}

int namings_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		   uint32_t functions, uint32_t files, struct film_naming *namings, size_t count)
{
	int err;
	uint64_t *column = begin_unpack(r, data, size, count, 5, 0, &err);
	size_t i;

	if (!column)
		return err;
	err = take_frames(r, frames, namings, column, count);
	if (!err)
		err = get_column(r, column, count, functions);
	for (i = 0; !err && i < count; i++)
		namings[i].function = (uint32_t)column[i];
	if (!err)
		err = get_column(r, column, count, files);
	for (i = 0; !err && i < count; i++)
		namings[i].file = (uint32_t)column[i];
	if (!err)
		err = get_column(r, column, count, (uint64_t)UINT32_MAX + 1);
	for (i = 0; !err && i < count; i++)
		namings[i].line = (uint32_t)column[i];
	return end_unpack(r, column, err);
}

int starts_pack(struct columns *c, const struct film_start *starts, size_t count)
{
	uint64_t *column = begin_pack(c, count);

	if (!column)
		return -ENOMEM;
	put_column(c, column, count, starts[i].frame - (i ? starts[i - 1].frame : 0));
	put_column(c, column, count, starts[i].distance);
	return end_pack(c, column);
}

int starts_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		  struct film_start *starts, size_t count)
{
	int err;
	uint64_t *column = begin_unpack(r, data, size, count, 2, 0, &err), frame = 0;
	size_t i;

	if (!column)
		return err;
	err = get_column(r, column, count, frames);
	for (i = 0; !err && i < count; i++) {
		frame += column[i];
		if (!column[i] || frame >= frames)
			err = -EBADMSG;
		starts[i].frame = (uint32_t)frame;
	}
	if (!err)
		err = column_reader_get(r, column, count);
	for (i = 0; !err && i < count; i++)
		starts[i].distance = column[i];
	return end_unpack(r, column, err);
}

int stacks_pack(struct columns *c, uint32_t first, const struct film_stack *stacks, size_t count)
{
	uint64_t *column = begin_pack(c, count);

	if (!column)
		return -ENOMEM;
	put_column(c, column, count, stacks[i].parent ? first + i - stacks[i].parent : 0);
	put_column(c, column, count, stacks[i].frame);
	put_column(c, column, count, stacks[i].how);
	return end_pack(c, column);
}

int stacks_unpack(struct column_reader *r, const void *data, size_t size, uint32_t first,
		  uint32_t frames, struct film_stack *stacks, size_t count)
{
	int err;
	uint64_t *column = begin_unpack(r, data, size, count, 3, 0, &err);
	size_t i;

	if (!column)
		return err;
	err = column_reader_get(r, column, count);
	for (i = 0; !err && i < count; i++) {
		/* a distance of the id itself would be another way to say "root": there is one */
		if (column[i] >= first + i)
			err = -EBADMSG;
		stacks[i].parent = column[i] ? (uint32_t)(first + i - column[i]) : 0;
	}
	if (!err)
		err = get_column(r, column, count, frames);
	for (i = 0; !err && i < count; i++) {
		if (!column[i])
			err = -EBADMSG;
		stacks[i].frame = (uint32_t)column[i];
	}
	if (!err)
		err = get_column(r, column, count, UINT8_MAX + 1);
	for (i = 0; !err && i < count; i++)
		stacks[i].how = (enum film_how)column[i];
	return end_unpack(r, column, err);
}
