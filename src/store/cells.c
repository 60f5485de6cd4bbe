// SPDX-License-Identifier: Apache-2.0
#include "store/cells.h"

#include <errno.h>
#include <string.h>

#include "base/saturated.h"

enum {
	CELL_COLUMNS = 3,
	SUM_COLUMNS = 5
};

void cell_sum_add(struct cell_sum *to, const struct cell_sum *more)
{
	to->samples = add_saturated(to->samples, more->samples);
	to->total = add_saturated(to->total, more->total);
	to->truncated = add_saturated(to->truncated, more->truncated);
	to->guessed = add_saturated(to->guessed, more->guessed);
}

/*
 * From the end, so that it can be done in place: what is in both lists is one less than there was
 * room for.
 */
int cells_merge(struct cell_list *list, const struct cell *more, size_t count)
{
	size_t i = list->count, k = count, to = list->count + count;

	if (!count)
		return 0;
	if (!vec_reserve(list, to))
		return -ENOMEM;
	while (k) {
		if (i && list->at[i - 1].path > more[k - 1].path) {
			list->at[--to] = list->at[--i];
		} else {
			list->at[--to] = more[--k];
			if (i && list->at[i - 1].path == more[k].path) {
				i--;
				list->at[to].samples =
					add_saturated(list->at[to].samples, list->at[i].samples);
				list->at[to].value =
					add_saturated(list->at[to].value, list->at[i].value);
			}
		}
	}
	/* the first i stand where they should; close the gap behind them */
	memmove(list->at + i, list->at + to, (list->count + count - to) * sizeof(*list->at));
	list->count = i + list->count + count - to;
	return 0;
}

int cells_pack(struct columns *c, const struct cell *cells, const uint32_t *counts, size_t lists)
{
	vec(uint64_t) numbers = {0};
	size_t count = 0, n = 0, i, k;

	for (i = 0; i < lists; i++)
		count += counts[i];
	if (!vec_reserve(&numbers, count))
		return -ENOMEM;
	columns_begin(c);
	for (i = 0; i < lists; i++)
		for (k = 0; k < counts[i]; k++, n++)
			numbers.at[n] = cells[n].path - (k ? cells[n - 1].path : 0);
	columns_put_numbers(c, numbers.at, count);
	for (n = 0; n < count; n++)
		numbers.at[n] = cells[n].value;
	columns_put(c, numbers.at, count);
	for (n = 0; n < count; n++)
		numbers.at[n] = cells[n].samples;
	columns_put(c, numbers.at, count);
	vec_free(&numbers);
	return columns_end(c);
}

int cells_unpack(struct cells_reader *r, const void *data, size_t size, const uint32_t *counts,
		 size_t lists, uint32_t paths, bool with_samples)
{
	size_t count = 0, n = 0, i, k;
	int err;

	for (i = 0; i < lists; i++)
		count += counts[i];
	if (!count || count > (size_t)UINT32_MAX)
		return -EBADMSG;
	if (!vec_reserve(&r->path, count) || !vec_reserve(&r->value, count) ||
	    !vec_reserve(&r->samples, count))
		return -ENOMEM;
	err = column_reader_begin(&r->columns, data, size, count, CELL_COLUMNS, 0);
	if (!err)
		err = column_reader_get(&r->columns, r->path.at, count);
	if (!err)
		err = column_reader_get(&r->columns, r->value.at, count);
	if (!err && with_samples)
		err = column_reader_get(&r->columns, r->samples.at, count);
	for (i = 0; !err && i < lists; i++) {
		uint64_t path = 0;

		/* no sum of 32 bits and one of 64 below 2^32 hides an overflow */
		for (k = 0; k < counts[i]; k++, n++) {
			if (r->path.at[n] >= paths - path || !r->path.at[n]) {
				err = -EBADMSG;
				break;
			}
			path += r->path.at[n];
			r->path.at[n] = path;
		}
	}
	r->path.count = r->value.count = err ? 0 : count;
	r->samples.count = err || !with_samples ? 0 : count;
	return err;
}

void cells_reader_free(struct cells_reader *r)
{
	column_reader_free(&r->columns);
	vec_free(&r->path);
	vec_free(&r->value);
	vec_free(&r->samples);
}

int minutes_pack(struct columns *c, const struct cell_sum *sums)
{
	uint64_t numbers[SUM_COLUMNS][HOUR_MINUTES];

	for (int i = 0; i < HOUR_MINUTES; i++) {
		numbers[0][i] = sums[i].samples;
		numbers[1][i] = sums[i].total;
		numbers[2][i] = sums[i].truncated;
		numbers[3][i] = sums[i].guessed;
		numbers[4][i] = sums[i].cells;
	}
	columns_begin(c);
	for (int i = 0; i < SUM_COLUMNS; i++)
		columns_put_numbers(c, numbers[i], HOUR_MINUTES);
	return columns_end(c);
}

int minutes_unpack(struct cells_reader *r, const void *data, size_t size, struct cell_sum *sums)
{
	uint64_t numbers[SUM_COLUMNS][HOUR_MINUTES];
	int err = column_reader_begin(&r->columns, data, size, HOUR_MINUTES, SUM_COLUMNS, 0);

	for (int i = 0; !err && i < SUM_COLUMNS; i++)
		err = column_reader_get(&r->columns, numbers[i], HOUR_MINUTES);
	if (!err)
		err = column_reader_end(&r->columns);
	for (int i = 0; !err && i < HOUR_MINUTES; i++) {
		sums[i] = (struct cell_sum){numbers[0][i], numbers[1][i], numbers[2][i],
					    numbers[3][i], (uint32_t)numbers[4][i]};
		if (numbers[4][i] > UINT32_MAX / HOUR_MINUTES)
			err = -EBADMSG;
	}
	return err;
}
