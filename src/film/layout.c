// SPDX-License-Identifier: Apache-2.0
#include "film/layout.h"

#include <errno.h>
#include <stdlib.h>

struct layout_cells layout_of_rows(const struct layout *layout, unsigned int column,
				   const void *rows)
{
	const struct layout_column *is = &layout->columns[column];

	return (struct layout_cells){(uint8_t *)rows + is->at, layout->row_size, is->size};
}

/* numbers[i] = the number of row i; a loop for each width, which the compiler then knows. */
#define gather_as(type)                                                   \
	do {                                                              \
		type number;                                              \
		for (size_t i = 0; i < count; i++, at += cells->stride) { \
			memcpy(&number, at, sizeof(number));              \
			numbers[i] = number;                              \
		}                                                         \
	} while (0)

void layout_gather(const struct layout_cells *cells, uint64_t *numbers, size_t count)
{
	const uint8_t *at = cells->at;

	switch (cells->size) {
	case 1:
		gather_as(uint8_t);
		break;
	case 2:
		gather_as(uint16_t);
		break;
	case 4:
		gather_as(uint32_t);
		break;
	default:
		gather_as(uint64_t);
	}
}

/* With a step that the compiler knows, many are stored at once. */
#define scatter_by(type, step)                               \
	do {                                                 \
		type number;                                 \
		for (size_t i = 0; i < count; i++) {         \
			number = (type)numbers[i];           \
			memcpy(at, &number, sizeof(number)); \
			at += (step);                        \
		}                                            \
	} while (0)

#define scatter_as(type)                                 \
	do {                                             \
		if (cells->stride == sizeof(type))       \
			scatter_by(type, sizeof(type));  \
		else                                     \
			scatter_by(type, cells->stride); \
	} while (0)

void layout_scatter(const struct layout_cells *cells, const uint64_t *numbers, size_t count)
{
	uint8_t *at = cells->at;

	switch (cells->size) {
	case 1:
		scatter_as(uint8_t);
		break;
	case 2:
		scatter_as(uint16_t);
		break;
	case 4:
		scatter_as(uint32_t);
		break;
	default:
		scatter_as(uint64_t);
	}
}

/* A column of the rows that are put. */
struct gathered {
	uint64_t *numbers; /* where it varies; else all are as the first */
	uint64_t first;
	bool varies;
};

/* Makes numbers what a block has instead of them. */
static void encode(enum layout_how how, uint64_t first, uint64_t *numbers, size_t count)
{
	size_t i;

	if (how == LAYOUT_STEP || how == LAYOUT_RISE) {
		for (i = count; i-- > 1;)
			numbers[i] -= numbers[i - 1];
	} else if (how == LAYOUT_BACK) {
		for (i = 0; i < count; i++)
			numbers[i] = numbers[i] ? first + i - numbers[i] : 0;
	}
}

/* The other way round. What has steps are ids: their limit keeps the sums from going around. */
static int decode(enum layout_how how, uint64_t first, uint64_t limit, uint64_t *numbers,
		  size_t count)
{
	uint64_t sum = 0, wrong = 0;
	size_t i;

	if (how == LAYOUT_STEP || how == LAYOUT_RISE) {
		for (i = 0; i < count; i++) {
			wrong |= (uint64_t)(numbers[i] >= limit);
			wrong |= (uint64_t)(how == LAYOUT_RISE && !numbers[i]);
			if (wrong)
				return -EBADMSG;
			sum += numbers[i];
			if (sum >= limit)
				return -EBADMSG;
			numbers[i] = sum;
		}
	} else if (how == LAYOUT_BACK) {
		for (i = 0; i < count; i++) {
			/*
			 * a distance of the id itself would be another way to say "none": there is
			 * one
			 */
			if (numbers[i] >= first + i)
				return -EBADMSG;
			numbers[i] = numbers[i] ? first + i - numbers[i] : 0;
		}
	}
	return 0;
}

/* The first number that a column may not have; 0: it may have all. */
static uint64_t limit_of(const struct layout_column *column, const struct layout_limits *limits)
{
	if (column->id_of != LAYOUT_NUMBER)
		return limits->of[column->id_of];
	if (column->most)
		return (uint64_t)column->most + 1;
	return column->size == sizeof(uint64_t) ? 0 : 1ull << 8 * column->size;
}

/* A block has its numbers as they are. */
static bool is_as_is(const struct layout_column *column)
{
	return column->how == LAYOUT_AS_IS || column->how == LAYOUT_NOISE;
}

static int check(const struct layout_column *column, const struct layout_limits *limits,
		 const uint64_t *numbers, size_t count)
{
	uint64_t limit = limit_of(column, limits), wrong = 0;
	size_t i;

	/* no id is valid of a table that does not even have its unused entry */
	if (limit || column->id_of != LAYOUT_NUMBER)
		for (i = 0; i < count; i++)
			wrong |= (uint64_t)(numbers[i] >= limit);
	if (column->needed)
		for (i = 0; i < count; i++)
			wrong |= (uint64_t)!numbers[i];
	return wrong ? -EBADMSG : 0;
}

/* This many bytes of rows are taken apart at a time: all columns of them are near then. */
#define TILE_BYTES (32u << 10)

/* As few numbers that they stay near, and as many that it counts little where they end. */
#define FILLED_AT_ONCE 256

/* A block of this many rows is one of many: the recorder must keep up with them. */
#define FAST_ROWS 8192

/* Whether all numbers are that one. */
static bool are_all(const struct layout_cells *cells, uint64_t value, size_t count)
{
	const uint8_t *at = cells->at;

	for (size_t i = 0; i < count; i++, at += cells->stride)
		if (layout_number(at, cells->size) != value)
			return false;
	return true;
}

/* A column of the rows from one on, up to another. */
static void gather_tile(struct gathered *g, const struct layout_cells *column, size_t from,
			size_t to)
{
	struct layout_cells cells = *column;

	cells.at += from * cells.stride;
	if (!g->varies) {
		if (are_all(&cells, g->first, to - from))
			return;
		/* until here they were */
		for (size_t i = 0; i < from; i++)
			g->numbers[i] = g->first;
		g->varies = true;
	}
	layout_gather(&cells, g->numbers + from, to - from);
}

/*
 * Takes rows apart into columns. Rows are large, and many: to go through them for each column would
 * fetch all of them from memory that often.
 */
static bool gather_rows(struct columns *c, const struct layout *layout, const void *rows,
			size_t count, struct gathered *columns)
{
	size_t tile = TILE_BYTES / layout->row_size + 1;

	/* what does not vary is not touched, and so takes no memory */
	if (!vec_reserve(&c->gathered, layout->count * count))
		return false;
	for (unsigned int i = 0; i < layout->count; i++)
		columns[i] = (struct gathered){
			.numbers = c->gathered.at + i * count,
			.first = layout_number_in(&layout->columns[i], rows),
		};
	for (size_t from = 0; from < count; from += tile) {
		size_t to = count - from < tile ? count : from + tile;

		for (unsigned int i = 0; i < layout->count; i++) {
			struct layout_cells cells = layout_of_rows(layout, i, rows);

			gather_tile(&columns[i], &cells, from, to);
		}
	}
	return true;
}

static void put_column(struct columns *c, const struct layout_column *column, uint64_t first,
		       struct gathered *g, size_t count)
{
	if (!g->varies && is_as_is(column)) {
		columns_put_constant(c, g->first);
		return;
	}
	for (size_t i = 0; !g->varies && i < count; i++)
		g->numbers[i] = g->first;
	encode(column->how, first, g->numbers, count);
	if (column->how == LAYOUT_NOISE)
		columns_put_numbers(c, g->numbers, count);
	else
		columns_put(c, g->numbers, count);
}

/*
 * How many columns a block has: the last ones that blocks of earlier versions lack are left out
 * where they say nothing, and readers of these versions can read it.
 */
static unsigned int count_columns(const struct layout *layout, const struct gathered *columns)
{
	unsigned int count = layout->count;

	while (count && layout->columns[count - 1].later && !columns[count - 1].varies &&
	       !columns[count - 1].first)
		count--;
	return count;
}

void layout_put(struct columns *c, const struct layout *layout, uint64_t first, const void *rows,
		size_t count)
{
	struct gathered columns[LAYOUT_COLUMNS_MAX];
	unsigned int put;

	if (!gather_rows(c, layout, rows, count, columns)) {
		c->failed = true;
		return;
	}
	put = count_columns(layout, columns);
	for (unsigned int i = 0; i < put; i++)
		put_column(c, &layout->columns[i], first, &columns[i], count);
}

static void fill(const struct layout_cells *cells, uint64_t value, size_t count)
{
	uint64_t numbers[FILLED_AT_ONCE];
	struct layout_cells rest = *cells;

	for (size_t i = 0; i < FILLED_AT_ONCE; i++)
		numbers[i] = value;
	while (count) {
		size_t some = count < FILLED_AT_ONCE ? count : FILLED_AT_ONCE;

		layout_scatter(&rest, numbers, some);
		rest.at += some * rest.stride;
		count -= some;
	}
}

int layout_read(struct column_reader *r, const struct layout *layout,
		const struct layout_limits *limits, uint64_t first,
		const struct layout_cells *cells, size_t count, uint64_t *scratch)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < layout->count; i++) {
		const struct layout_column *column = &layout->columns[i];
		bool at_once = cells[i].size == 8 && cells[i].stride == 8;
		uint64_t *numbers = at_once ? (uint64_t *)(void *)cells[i].at : scratch, value;

		if (is_as_is(column) && column_reader_constant(r, &value)) {
			err = check(column, limits, &value, 1);
			if (!err)
				fill(&cells[i], value, count);
			continue;
		}
		if (column->later && !column_reader_end(r))
			memset(numbers, 0, count * sizeof(*numbers));
		else
			err = column_reader_get(r, numbers, count);
		if (!err)
			err = decode(column->how, first, limit_of(column, limits), numbers, count);
		if (!err)
			err = check(column, limits, numbers, count);
		if (!err && !at_once)
			layout_scatter(&cells[i], numbers, count);
	}
	return err;
}

int layout_pack(struct columns *c, const struct layout *layout, uint64_t first, const void *rows,
		size_t count)
{
	columns_begin(c);
	layout_put(c, layout, first, rows, count);
	c->is_fast = count >= FAST_ROWS;
	return columns_end(c);
}

int layout_unpack(struct column_reader *r, const struct layout *layout,
		  const struct layout_limits *limits, uint64_t first, const void *data, size_t size,
		  void *rows, size_t count)
{
	struct layout_cells cells[LAYOUT_COLUMNS_MAX];
	uint64_t *scratch;
	int err;

	if (!count)
		return -EBADMSG;
	scratch = malloc(count * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	for (unsigned int i = 0; i < layout->count; i++)
		cells[i] = layout_of_rows(layout, i, rows);
	err = column_reader_begin(r, data, size, count, layout->count, 0);
	if (!err)
		err = layout_read(r, layout, limits, first, cells, count, scratch);
	free(scratch);
	return err ? err : column_reader_end(r);
}

bool layout_ids_ok(const struct layout *layout, const struct layout_limits *limits,
		   const void *rows, size_t count)
{
	for (unsigned int i = 0; i < layout->count; i++) {
		const struct layout_column *column = &layout->columns[i];
		const uint8_t *row = rows;

		if (column->id_of == LAYOUT_NUMBER)
			continue;
		for (size_t k = 0; k < count; k++, row += layout->row_size)
			if (layout_number_in(column, row) >= limits->of[column->id_of])
				return false;
	}
	return true;
}
