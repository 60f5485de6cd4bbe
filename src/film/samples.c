// SPDX-License-Identifier: Apache-2.0
#include "film/samples.h"

#include <errno.h>

#define COLUMNS 4

int samples_pack(struct columns *c, const struct film_sample *samples, size_t count,
		 struct film_span *span)
{
	uint64_t *column = malloc(count * sizeof(*column));
	size_t i;

	if (!column)
		return -ENOMEM;
	*span = (struct film_span){
		.t0 = samples[0].time,
		.t1 = samples[count - 1].time,
		.count = (uint32_t)count,
	};
	columns_begin(c);
	for (i = 0; i < count; i++)
		column[i] = samples[i].time;
	columns_put(c, column, count);
	for (i = 0; i < count; i++)
		column[i] = samples[i].thread;
	columns_put(c, column, count);
	for (i = 0; i < count; i++)
		column[i] = samples[i].stack;
	columns_put(c, column, count);
	for (i = 0; i < count; i++) {
		column[i] = samples[i].value;
		span->total = add_saturated(span->total, column[i]);
	}
	columns_put(c, column, count);
	free(column);
	return columns_end(c);
}

/* A column of ids, each smaller than limit. */
static int get_ids(struct samples_reader *r, uint32_t *ids, size_t count, uint32_t limit)
{
	/* value is read last, so its room is free until then */
	uint64_t *wide = r->value.at;
	size_t i;
	int err = column_reader_get(&r->columns, wide, count);

	for (i = 0; !err && i < count; i++) {
		if (wide[i] >= limit)
			return -EBADMSG;
		ids[i] = (uint32_t)wide[i];
	}
	return err;
}

static int check_span(const struct samples_reader *r, const struct film_span *span)
{
	uint64_t total = 0;
	size_t i;

	if (r->time.at[0] != span->t0 || r->time.at[span->count - 1] != span->t1)
		return -EBADMSG;
	for (i = 0; i < span->count; i++) {
		if (i && r->time.at[i] < r->time.at[i - 1])
			return -EBADMSG;
		total = add_saturated(total, r->value.at[i]);
	}
	return total == span->total ? 0 : -EBADMSG;
}

int samples_unpack(struct samples_reader *r, const void *data, size_t size,
		   const struct film_span *span, uint32_t threads, uint32_t stacks,
		   struct film_samples *samples)
{
	size_t count = span->count;
	int err;

	if (!count)
		return -EBADMSG;
	if (!vec_reserve(&r->time, count) || !vec_reserve(&r->value, count) ||
	    !vec_reserve(&r->thread, count) || !vec_reserve(&r->stack, count))
		return -ENOMEM;
	err = column_reader_begin(&r->columns, data, size, count, COLUMNS, 0);
	if (!err)
		err = column_reader_get(&r->columns, r->time.at, count);
	if (!err)
		err = get_ids(r, r->thread.at, count, threads);
	if (!err)
		err = get_ids(r, r->stack.at, count, stacks);
	if (!err)
		err = column_reader_get(&r->columns, r->value.at, count);
	if (!err)
		err = column_reader_end(&r->columns);
	if (!err)
		err = check_span(r, span);
	if (!err)
		*samples = (struct film_samples){count, r->time.at, r->thread.at, r->stack.at,
						 r->value.at};
	return err;
}

void samples_reader_free(struct samples_reader *r)
{
	column_reader_free(&r->columns);
	vec_free(&r->time);
	vec_free(&r->value);
	vec_free(&r->thread);
	vec_free(&r->stack);
}
