// SPDX-License-Identifier: Apache-2.0
#include "film/unpack.h"

#include <errno.h>

#include "base/saturated.h"
#include "base/search.h"

static void *view_column(const union film_view *view, const struct layout_column *column)
{
	void *at;

	memcpy(&at, (const uint8_t *)view + column->view, sizeof(at));
	return at;
}

static void set_view_column(union film_view *view, const struct layout_column *column,
			    const void *at)
{
	memcpy((uint8_t *)view + column->view, &at, sizeof(at));
}

/* Bytes of the numbers of a column in a view. */
static size_t view_size(const struct layout_column *column)
{
	return column->size == sizeof(uint64_t) ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Room for all columns of a block, or its rows, and says where they are. */
static int make_room(struct film_unpacker *u, const struct film_kind *kind, size_t count,
		     struct film_unpacked *unpacked)
{
	const struct layout *layout = &kind->layout;
	/*
	 * columns of four bytes are as long as those of eight: they begin at a multiple of eight,
	 * too
	 */
	size_t size = layout->view_size ? count * layout->count
					: (count * layout->row_size + 7) / sizeof(uint64_t);

	if (!vec_reserve(&u->cells, size) || !vec_reserve(&u->scratch, count))
		return -ENOMEM;
	if (layout->view_size) {
		unpacked->view.count = count;
		for (unsigned int i = 0; i < layout->count; i++)
			set_view_column(&unpacked->view, &layout->columns[i],
					u->cells.at + i * count);
		return 0;
	}
	/* what is not a column of this kind is 0 */
	memset(u->cells.at, 0, size * sizeof(*u->cells.at));
	unpacked->rows = u->cells.at;
	unpacked->row_count = count;
	return 0;
}

static int read_columns(struct film_unpacker *u, const struct layout_limits *limits,
			const void *data, size_t size, struct film_unpacked *unpacked)
{
	const struct film_kind *kind = unpacked->kind;
	const struct layout *layout = &kind->layout;
	struct layout_cells cells[LAYOUT_COLUMNS_MAX];
	size_t count = unpacked->span.count;
	int err;

	if (kind->unpack)
		return kind->unpack(&u->calls, limits, data, size, count, &unpacked->view);
	err = make_room(u, kind, count, unpacked);
	if (err)
		return err;
	for (unsigned int i = 0; i < layout->count; i++)
		cells[i] = film_unpacked_cells(unpacked, i);
	err = column_reader_begin(&u->columns, data, size, count, layout->count, 0);
	if (!err)
		err = layout_read(&u->columns, layout, limits, 0, cells, count, u->scratch.at);
	return err ? err : column_reader_end(&u->columns);
}

/* All times, from the least to the greatest, and what took longer than that. */
static bool times_ok(const struct film_kind *kind, const union film_view *view,
		     const struct film_span *span)
{
	const uint64_t *time = view_column(view, kind->time), *length;
	uint64_t wrong = 0;
	size_t i;

	if (time[0] != span->t0 || time[view->count - 1] != span->t1)
		return false;
	for (i = 1; i < view->count; i++)
		wrong |= (uint64_t)(time[i] < time[i - 1]);
	if (!wrong && kind->length) {
		length = view_column(view, kind->length);
		for (i = 0; i < view->count; i++)
			wrong |= (uint64_t)(length[i] > time[i]);
	}
	return !wrong;
}

static uint64_t total_of(const struct film_unpacked *unpacked)
{
	const struct film_kind *kind = unpacked->kind;
	const struct layout_column *columns = kind->layout.columns;
	struct layout_cells total =
		film_unpacked_cells(unpacked, (unsigned int)(kind->total - columns));
	struct layout_cells outer = total;
	uint64_t sum = 0;

	if (kind->outermost)
		outer = film_unpacked_cells(unpacked, (unsigned int)(kind->outermost - columns));
	for (size_t i = 0; i < unpacked->span.count; i++) {
		if (!kind->outermost || !layout_number(outer.at + i * outer.stride, outer.size))
			sum = add_saturated(sum,
					    layout_number(total.at + i * total.stride, total.size));
	}
	return sum;
}

int film_unpack(struct film_unpacker *u, const struct film_kind *kind,
		const struct layout_limits *limits, const struct film_span *span, const void *data,
		size_t size, struct film_unpacked *unpacked)
{
	int err;

	*unpacked = (struct film_unpacked){.kind = kind, .span = *span};
	if (!span->count)
		return -EBADMSG;
	err = read_columns(u, limits, data, size, unpacked);
	if (!err && kind->span == FILM_SPAN_TIMES && !times_ok(kind, &unpacked->view, span))
		err = -EBADMSG;
	if (!err && kind->total && (span->total || !kind->had_no_total) &&
	    total_of(unpacked) != span->total)
		err = -EBADMSG;
	return err;
}

void film_unpacker_free(struct film_unpacker *u)
{
	calls_reader_free(&u->calls);
	column_reader_free(&u->columns);
	vec_free(&u->scratch);
	vec_free(&u->cells);
}

struct layout_cells film_unpacked_cells(const struct film_unpacked *unpacked, unsigned int column)
{
	const struct layout *layout = &unpacked->kind->layout;
	const struct layout_column *is = &layout->columns[column];
	uint8_t size = (uint8_t)view_size(is);

	if (layout->view_size)
		return (struct layout_cells){view_column(&unpacked->view, is), size, size};
	return layout_of_rows(layout, column, unpacked->rows);
}

/* The index of the first of count sorted times that is not before time. */
static size_t first_from(const uint64_t *times, size_t count, uint64_t time)
{
	return search_first(count, i, times[i] < time);
}

void film_view_cut(const struct film_kind *kind, union film_view *view, uint64_t from, uint64_t to)
{
	const uint64_t *time = view_column(view, kind->time);
	size_t first = first_from(time, view->count, from);
	size_t end = first_from(time, view->count, to);

	view->count = end > first ? end - first : 0;
	for (unsigned int i = 0; first && i < kind->layout.count; i++) {
		const struct layout_column *column = &kind->layout.columns[i];
		const uint8_t *at = view_column(view, column);

		set_view_column(view, column, at + first * view_size(column));
	}
}

struct film_samples film_view_samples(const struct film_kind *kind, const union film_view *view)
{
	return (struct film_samples){
		.count = view->count,
		.time = view_column(view, kind->time),
		.thread = view_column(view, kind->thread),
		.stack = view_column(view, kind->stack),
		.value = view_column(view, kind->total),
		.born = kind->born ? view_column(view, kind->born) : NULL,
		.count_of = kind->count ? view_column(view, kind->count) : NULL,
		.cpu = kind->cpu ? view_column(view, kind->cpu) : NULL,
	};
}
