// SPDX-License-Identifier: Apache-2.0
#include "film/blocks.h"

#include <stdlib.h>

#include "base/saturated.h"

/*
 * A block whose columns are packed one by one has at most this many rows: they and their columns
 * are near then, and a reader need not unpack many for a moment.
 */
#define COLUMNS_ROWS 16384

struct output {
	struct film_blocks *b;
	int (*write)(void *context, const struct buf *row);
	void *context;
	uint64_t block_span;
	uint32_t block_rows;
	/* of the rows at hand: */
	uint32_t event;
	enum film_block_kind number;
	const struct film_kind *kind;
};

static void make_span(const struct film_kind *kind, const uint8_t *row, size_t count,
		      struct film_span *span)
{
	span->count = (uint32_t)count;
	span->total = 0;
	if (kind->span == FILM_SPAN_TIMES)
		span->t0 = span->t1 = layout_number_in(kind->time, row);
	for (; count; count--, row += kind->layout.row_size) {
		if (kind->span == FILM_SPAN_TIMES) {
			uint64_t time = layout_number_in(kind->time, row);

			span->t0 = time < span->t0 ? time : span->t0;
			span->t1 = time > span->t1 ? time : span->t1;
		}
		if (kind->total && (!kind->outermost || !layout_number_in(kind->outermost, row)))
			span->total =
				add_saturated(span->total, layout_number_in(kind->total, row));
	}
}

int film_block_pack(struct film_blocks *b, const struct film_kind *kind, const void *rows,
		    size_t count, struct film_span *span)
{
	make_span(kind, rows, count, span);
	if (kind->pack)
		return kind->pack(&b->calls, &b->columns, rows, count);
	return layout_pack(&b->columns, &kind->layout, 0, rows, count);
}

static int write_as(const struct output *o, enum film_block_kind kind, const void *rows,
		    size_t count, struct film_span *span)
{
	struct film_blocks *b = o->b;

	if (film_block_pack(b, film_kind(kind), rows, count, span))
		return SQLITE_NOMEM;
	b->row.count = 0;
	film_put_row(&b->row, FILM_ROW_BLOCK, (uint64_t)o->event, (uint64_t)kind, span->t0,
		     span->t1, (uint64_t)span->count, span->total, b->columns.packed.at,
		     b->columns.packed.count);
	return o->write(o->context, &b->row);
}

static int write_block(const struct output *o, const struct film_rows *rows, size_t from,
		       size_t count)
{
	const void *first = rows->at + from * o->kind->layout.row_size;
	struct film_span span = {.t0 = rows->from, .t1 = rows->to};
	int rc = write_as(o, o->number, first, count, &span);

	if (rc == SQLITE_OK && o->kind->also)
		rc = write_as(o, o->kind->also, first, count, &span);
	return rc;
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct film_kind *kind = context;
	uint64_t x = layout_number_in(kind->time, a), y = layout_number_in(kind->time, b);

	if (x == y && kind->thread) {
		x = layout_number_in(kind->thread, a);
		y = layout_number_in(kind->thread, b);
	}
	return x < y ? -1 : x > y;
}

static uint64_t time_of(const struct film_kind *kind, const struct film_rows *rows, size_t row)
{
	return layout_number_in(kind->time, rows->at + row * kind->layout.row_size);
}

/* How many rows come later than one of a later time. */
static size_t count_late(const struct film_kind *kind, const struct film_rows *rows)
{
	uint64_t last = 0;
	size_t late = 0;

	for (size_t i = 0; i < rows->count; i++) {
		uint64_t time = time_of(kind, rows, i);

		late += time < last;
		last = time > last ? time : last;
	}
	return late;
}

/* Those go to late, in order; the others, which have one, close up. */
static void part_late(const struct film_kind *kind, struct film_rows *rows, struct film_rows *late)
{
	size_t size = kind->layout.row_size, kept = 0;
	uint64_t last = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const uint8_t *row = rows->at + i * size;
		uint64_t time = time_of(kind, rows, i);
		bool is_late = time < last;

		memmove(is_late ? late->at + late->count++ * size : rows->at + kept++ * size, row,
			size);
		last = is_late ? last : time;
	}
	qsort_r(late->at, late->count, size, by_time, (void *)kind);
}

/* From the end, so that each row goes where there is room by then. */
static void merge_late(const struct film_kind *kind, struct film_rows *rows,
		       const struct film_rows *late)
{
	size_t size = kind->layout.row_size, left = late->count, kept = rows->count - left;

	for (size_t to = rows->count; left; to--) {
		bool is_late =
			!kept || time_of(kind, late, left - 1) >= time_of(kind, rows, kept - 1);

		memmove(rows->at + (to - 1) * size,
			is_late ? late->at + --left * size : rows->at + --kept * size, size);
	}
}

/* They mostly come in order of time: few are sorted then. */
static void sort_rows(const struct film_kind *kind, struct film_rows *rows)
{
	size_t size = kind->layout.row_size;
	struct film_rows late = {0};
	size_t count = count_late(kind, rows);

	if (!count)
		return;
	late.at = count < rows->count / 8 ? malloc(count * size) : NULL;
	if (!late.at) {
		qsort_r(rows->at, rows->count, size, by_time, (void *)kind);
		return;
	}
	part_late(kind, rows, &late);
	merge_late(kind, rows, &late);
	free(late.at);
}

/* At most count rows, of which the last is not of the time of the next one, if that can be. */
static size_t keep_together(const struct film_kind *kind, const struct film_rows *rows, size_t from,
			    size_t count)
{
	size_t least = count;

	if (from + count == rows->count)
		return count;
	while (least && time_of(kind, rows, from + least - 1) == time_of(kind, rows, from + count))
		least--;
	return least ? least : count;
}

/* How many of the rows from one on make a block. */
static size_t rows_of_block(const struct output *o, const struct film_rows *rows, size_t from)
{
	size_t most = o->kind->pack ? FILM_BLOCK_MAX : COLUMNS_ROWS, count = rows->count - from;
	size_t least = 1;
	uint64_t first;

	if (!o->kind->sorted)
		return count;
	count = count < most ? count : most;
	first = time_of(o->kind, rows, from);
	/* a block has that many in any case, if they are there */
	if (o->block_rows > least)
		least = o->block_rows < count ? o->block_rows : count;
	/* those up to least are of its span; from count on there is none */
	while (least < count) {
		size_t middle = least + (count - least + 1) / 2;

		if (time_of(o->kind, rows, from + middle - 1) - first < o->block_span)
			least = middle;
		else
			count = middle - 1;
	}
	return o->kind->together ? keep_together(o->kind, rows, from, least) : least;
}

static int write_rows(const struct output *o, struct film_rows *rows)
{
	size_t from, count;
	int rc = SQLITE_OK;

	if (o->kind->sorted)
		sort_rows(o->kind, rows);
	for (from = 0; rc == SQLITE_OK && from < rows->count; from += count) {
		count = rows_of_block(o, rows, from);
		rc = write_block(o, rows, from, count);
	}
	return rc;
}

int film_blocks_write(struct film_blocks *b, struct film_batch *batch,
		      int (*write)(void *context, const struct buf *row), void *context)
{
	struct output o = {b, write, context, .block_span = batch->block_span,
			   .block_rows = batch->block_rows};
	int rc = SQLITE_OK;

	for (o.number = FILM_BLOCK_SAMPLES; o.number < FILM_BLOCK_KINDS; o.number++) {
		o.kind = film_kind(o.number);
		for (o.event = 1; batch->piled[o.number] && o.event < FILM_EVENTS_MAX; o.event++) {
			struct film_rows *rows = batch->piles[o.number][o.event].first;

			for (; rc == SQLITE_OK && rows; rows = rows->next)
				rc = write_rows(&o, rows);
		}
	}
	return rc;
}

void film_blocks_free(struct film_blocks *b)
{
	columns_free(&b->columns);
	calls_packer_free(&b->calls);
	buf_free(&b->row);
}
