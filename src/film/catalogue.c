// SPDX-License-Identifier: Apache-2.0
#include "film/catalogue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/layout.h"
#include "film/schema.h"

/* The length of the name and the names follow. */
static const struct layout_column function_columns[] = {
	LAYOUT_COLUMN(film_function, image, .id_of = LAYOUT_IMAGE),
	LAYOUT_COLUMN(film_function, kind, .most = UINT8_MAX),
};

static const struct layout_column place_columns[] = {
	LAYOUT_COLUMN(film_place, image, .id_of = LAYOUT_IMAGE),
	LAYOUT_COLUMN(film_place, kind),
	LAYOUT_COLUMN(film_place, address),
};

static const struct layout_column naming_columns[] = {
	LAYOUT_COLUMN(film_naming, frame, .id_of = LAYOUT_FRAME, .how = LAYOUT_STEP,
		      .needed = true),
	LAYOUT_COLUMN(film_naming, depth, .most = FILM_DEPTH_MAX),
	LAYOUT_COLUMN(film_naming, function, .id_of = LAYOUT_FUNCTION),
	LAYOUT_COLUMN(film_naming, file, .id_of = LAYOUT_FILE),
	LAYOUT_COLUMN(film_naming, line),
};

static const struct layout_column start_columns[] = {
	LAYOUT_COLUMN(film_start, frame, .id_of = LAYOUT_FRAME, .how = LAYOUT_RISE),
	LAYOUT_COLUMN(film_start, distance),
};

static const struct layout_column stack_columns[] = {
	LAYOUT_COLUMN(film_stack, parent, .how = LAYOUT_BACK),
	LAYOUT_COLUMN(film_stack, frame, .id_of = LAYOUT_FRAME, .needed = true),
	LAYOUT_COLUMN(film_stack, how, .most = UINT8_MAX),
};

#define LAYOUT(row, name)                                                    \
	static const struct layout name##_layout = {                         \
		.columns = name##_columns,                                   \
		.count = sizeof(name##_columns) / sizeof(name##_columns[0]), \
		.row_size = sizeof(struct row),                              \
	}

LAYOUT(film_function, function);
LAYOUT(film_place, place);
LAYOUT(film_naming, naming);
LAYOUT(film_start, start);
LAYOUT(film_stack, stack);

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
	uint64_t *numbers = malloc(count * sizeof(*numbers));
	size_t n;

	if (!numbers)
		return -ENOMEM;
	columns_begin(c);
	layout_put(c, &function_layout, 0, functions, count);
	for (n = 0; n < count; n++)
		numbers[n] = strlen(functions[n].name);
	columns_put(c, numbers, count);
	for (n = 0; n < count; n++)
		columns_put_bytes(c, functions[n].name, strlen(functions[n].name));
	free(numbers);
	return columns_end(c);
}

static int read_names(struct column_reader *r, struct arena *texts, struct film_function *functions,
		      uint64_t *lengths, size_t count)
{
	if (column_reader_get(r, lengths, count))
		return -EBADMSG;
	for (size_t i = 0; i < count; i++) {
		const void *name = lengths[i] > FILM_TEXT_MAX
					   ? NULL
					   : column_reader_bytes(r, (size_t)lengths[i]);

		if (!name || memchr(name, 0, (size_t)lengths[i]))
			return -EBADMSG;
		functions[i].name = arena_text(texts, name, (size_t)lengths[i]);
		if (!functions[i].name)
			return -ENOMEM;
	}
	return 0;
}

int functions_unpack(struct column_reader *r, const void *data, size_t size, uint32_t images,
		     struct arena *texts, struct film_function *functions, size_t count)
{
	const struct layout_limits limits = {{[LAYOUT_IMAGE] = images}};
	const struct layout *layout = &function_layout;
	struct layout_cells cells[2];
	uint64_t *numbers;
	int err;

	if (!count)
		return -EBADMSG;
	numbers = malloc(count * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (unsigned int i = 0; i < layout->count; i++)
		cells[i] = layout_of_rows(layout, i, functions);
	err = column_reader_begin(r, data, size, count, layout->count + 1,
				  FILM_BLOCK_TEXT_MAX + FILM_TEXT_MAX);
	if (!err)
		err = layout_read(r, layout, &limits, 0, cells, count, numbers);
	if (!err)
		err = read_names(r, texts, functions, numbers, count);
	free(numbers);
	return err ? err : column_reader_end(r);
}

int places_pack(struct columns *c, const struct film_place *places, size_t count)
{
	return layout_pack(c, &place_layout, 0, places, count);
}

int places_unpack(struct column_reader *r, const void *data, size_t size, uint32_t images,
		  struct film_place *places, size_t count)
{
	const struct layout_limits limits = {{[LAYOUT_IMAGE] = images}};

	return layout_unpack(r, &place_layout, &limits, 0, data, size, places, count);
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
	return layout_pack(c, &naming_layout, 0, namings, count);
}

int namings_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		   uint32_t functions, uint32_t files, struct film_naming *namings, size_t count)
{
	const struct layout_limits limits = {{
		[LAYOUT_FRAME] = frames,
		[LAYOUT_FUNCTION] = functions,
		[LAYOUT_FILE] = files,
	}};
	int err = layout_unpack(r, &naming_layout, &limits, 0, data, size, namings, count);

	/* each frame with the depths 0, 1, 2 … */
	for (size_t i = 0; !err && i < count; i++) {
		bool same = i && namings[i].frame == namings[i - 1].frame;

		if (namings[i].depth != (same ? namings[i - 1].depth + 1 : 0))
			err = -EBADMSG;
	}
	return err;
}

int starts_pack(struct columns *c, const struct film_start *starts, size_t count)
{
	return layout_pack(c, &start_layout, 0, starts, count);
}

int starts_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		  struct film_start *starts, size_t count)
{
	const struct layout_limits limits = {{[LAYOUT_FRAME] = frames}};

	return layout_unpack(r, &start_layout, &limits, 0, data, size, starts, count);
}

int stacks_pack(struct columns *c, uint32_t first, const struct film_stack *stacks, size_t count)
{
	return layout_pack(c, &stack_layout, first, stacks, count);
}

int stacks_unpack(struct column_reader *r, const void *data, size_t size, uint32_t first,
		  uint32_t frames, struct film_stack *stacks, size_t count)
{
	const struct layout_limits limits = {{[LAYOUT_FRAME] = frames}};

	return layout_unpack(r, &stack_layout, &limits, first, data, size, stacks, count);
}
