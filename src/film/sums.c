// SPDX-License-Identifier: Apache-2.0
#include "film/sums.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A number of a row: where it lies in the struct, and its size there, 4 or 8. */
struct field {
	size_t at, size;
};

#define FIELD(type, name)                                                     \
	{                                                                     \
		offsetof(struct type, name), sizeof(((struct type *)0)->name) \
	}

/* The columns in their order; the first is a frame. Behind those of a sum come its buckets. */
static const struct field probe_fields[COST_COLUMNS] = {
	FIELD(film_probe, frame),
	FIELD(film_probe, own),
	FIELD(film_probe, outer),
	FIELD(film_probe, error),
};
static const struct field sum_fields[SUM_COLUMNS - FILM_SUM_BUCKETS] = {
	FIELD(film_sum, frame), FIELD(film_sum, calls),	    FIELD(film_sum, total),
	FIELD(film_sum, self),	FIELD(film_sum, waited),    FIELD(film_sum, min),
	FIELD(film_sum, max),	FIELD(film_sum, recursive), FIELD(film_sum, inferred),
};

/* Rows of which a block consists. */
struct layout {
	size_t row_size;
	unsigned int columns;
	struct field (*field)(unsigned int column);
};

static struct field probe_field(unsigned int column)
{
	return probe_fields[column];
}

static struct field sum_field(unsigned int column)
{
	const unsigned int first = SUM_COLUMNS - FILM_SUM_BUCKETS;

	if (column < first)
		return sum_fields[column];
	return (struct field){offsetof(struct film_sum, buckets) + 8ull * (column - first), 8};
}

static const struct layout probe_layout = {sizeof(struct film_probe), PROBE_COLUMNS, probe_field};
static const struct layout cost_layout = {sizeof(struct film_probe), COST_COLUMNS, probe_field};
static const struct layout sum_layout = {sizeof(struct film_sum), SUM_COLUMNS, sum_field};

static int pack(struct columns *c, const struct layout *layout, const void *rows, size_t count)
{
	uint64_t *numbers = malloc(count * sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	columns_begin(c);
	for (unsigned int column = 0; column < layout->columns; column++) {
		struct field field = layout->field(column);
		const uint8_t *from = (const uint8_t *)rows + field.at;
		uint32_t narrow;

		for (size_t i = 0; i < count; i++, from += layout->row_size) {
			memcpy(&narrow, from, sizeof(narrow));
			numbers[i] = narrow;
			if (field.size == sizeof(*numbers))
				memcpy(&numbers[i], from, sizeof(*numbers));
		}
		columns_put(c, numbers, count);
	}
	free(numbers);
	return columns_end(c);
}

static int take_column(struct column_reader *r, struct field field, uint64_t most,
		       uint64_t *numbers, uint8_t *to, size_t row_size, size_t count)
{
	int err = column_reader_get(r, numbers, count);

	for (size_t i = 0; !err && i < count; i++, to += row_size) {
		uint32_t narrow = (uint32_t)numbers[i];

		if (numbers[i] > most)
			err = -EBADMSG;
		else if (field.size == sizeof(narrow))
			memcpy(to, &narrow, sizeof(narrow));
		else
			memcpy(to, &numbers[i], sizeof(*numbers));
	}
	return err;
}

static int unpack(struct column_reader *r, const struct layout *layout, const void *data,
		  size_t size, uint32_t frames, void *rows, size_t count)
{
	uint64_t *numbers;
	int err;

	if (!count || !frames)
		return -EBADMSG;
	numbers = malloc(count * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	err = column_reader_begin(r, data, size, count, layout->columns, 0);
	for (unsigned int column = 0; !err && column < layout->columns; column++) {
		struct field field = layout->field(column);
		uint64_t most = field.size == sizeof(*numbers) ? UINT64_MAX : UINT32_MAX;

		err = take_column(r, field, column ? most : frames - 1, numbers,
				  (uint8_t *)rows + field.at, layout->row_size, count);
	}
	free(numbers);
	return err ? err : column_reader_end(r);
}

int probes_pack(struct columns *c, const struct film_probe *probes, size_t count)
{
	return pack(c, &probe_layout, probes, count);
}

int probes_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		  struct film_probe *probes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		probes[i].error = 0;
	return unpack(r, &probe_layout, data, size, frames, probes, count);
}

int costs_pack(struct columns *c, const struct film_probe *probes, size_t count)
{
	return pack(c, &cost_layout, probes, count);
}

int costs_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		 struct film_probe *probes, size_t count)
{
	return unpack(r, &cost_layout, data, size, frames, probes, count);
}

uint64_t sums_total(const struct film_sum *sums, size_t count)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < count; i++)
		total = add_saturated(total, sums[i].self);
	return total;
}

int sums_pack(struct columns *c, const struct film_sum *sums, size_t count)
{
	return pack(c, &sum_layout, sums, count);
}

int sums_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		uint64_t total, struct film_sum *sums, size_t count)
{
	int err = unpack(r, &sum_layout, data, size, frames, sums, count);

	return !err && sums_total(sums, count) != total ? -EBADMSG : err;
}
