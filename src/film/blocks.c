// SPDX-License-Identifier: Apache-2.0
#include "film/blocks.h"

#include <stdlib.h>

#include "film/sums.h"

struct output {
	struct film_blocks *b;
	int (*write)(void *context, const struct buf *row);
	void *context;
};

/* Hands over the block in b->columns. */
static int put_block(const struct output *o, uint32_t event, enum film_block_kind kind,
		     const struct film_span *span)
{
	struct film_blocks *b = o->b;

	b->row.count = 0;
	film_put_row(&b->row, FILM_ROW_BLOCK, (uint64_t)event, (uint64_t)kind, span->t0, span->t1,
		     (uint64_t)span->count, span->total, b->columns.packed.at,
		     b->columns.packed.count);
	return o->write(o->context, &b->row);
}

static int by_time(const void *a, const void *b)
{
	const struct film_sample *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Samples mostly come in order of time; then sorting them is one look at each. */
static void sort_samples(struct film_sample_list *list)
{
	size_t i;

	for (i = 1; i < list->count; i++) {
		if (list->at[i].time < list->at[i - 1].time) {
			qsort(list->at, list->count, sizeof(*list->at), by_time);
			return;
		}
	}
}

static int write_samples(const struct output *o, uint32_t event, struct film_sample_list *list,
			 uint64_t block_span)
{
	size_t from, count;
	int rc = SQLITE_OK;

	sort_samples(list);
	for (from = 0; rc == SQLITE_OK && from < list->count; from += count) {
		const struct film_sample *samples = list->at + from;
		struct film_span span;

		for (count = 1; from + count < list->count && count < FILM_BLOCK_MAX; count++) {
			if (samples[count].time - samples[0].time >= block_span)
				break;
		}
		if (samples_pack(&o->b->columns, samples, count, &span))
			return SQLITE_NOMEM;
		rc = put_block(o, event, FILM_BLOCK_SAMPLES, &span);
	}
	return rc;
}

static int write_calls(const struct output *o, const struct film_batch *batch)
{
	const struct film_call_chunk *chunk;
	struct film_span span;
	int rc = SQLITE_OK;

	for (chunk = batch->calls; rc == SQLITE_OK && chunk; chunk = chunk->next) {
		if (calls_pack(&o->b->calls, &o->b->columns, chunk->at, chunk->count, &span))
			return SQLITE_NOMEM;
		rc = put_block(o, chunk->event, FILM_BLOCK_CALLS, &span);
	}
	return rc;
}

static int write_probes(const struct output *o, const struct film_batch *batch)
{
	vec(struct film_probe) probes = {0};
	size_t i = 0;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && i < batch->probes.count) {
		uint32_t event = batch->probes.at[i].event;
		struct film_span span = {0};

		probes.count = 0;
		for (; i < batch->probes.count && batch->probes.at[i].event == event; i++) {
			if (probes.count == FILM_BLOCK_MAX)
				break;
			if (!vec_push(&probes, batch->probes.at[i].probe))
				rc = SQLITE_NOMEM;
		}
		span.count = (uint32_t)probes.count;
		if (rc == SQLITE_OK && probes_pack(&o->b->columns, probes.at, probes.count))
			rc = SQLITE_NOMEM;
		if (rc == SQLITE_OK)
			rc = put_block(o, event, FILM_BLOCK_PROBES, &span);
		/* the same with their errors: readers that know no such blocks take those above */
		if (rc == SQLITE_OK && costs_pack(&o->b->columns, probes.at, probes.count))
			rc = SQLITE_NOMEM;
		if (rc == SQLITE_OK)
			rc = put_block(o, event, FILM_BLOCK_COSTS, &span);
	}
	vec_free(&probes);
	return rc;
}

/* Sums stand in one block if they are of the same event and time. */
static int write_sums(const struct output *o, const struct film_batch *batch)
{
	vec(struct film_sum) sums = {0};
	size_t i = 0;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && i < batch->sums.count) {
		const struct film_sum_given *first = &batch->sums.at[i], *given;
		struct film_span span = {.t0 = first->from, .t1 = first->to};

		sums.count = 0;
		for (; i < batch->sums.count && sums.count < FILM_BLOCK_MAX; i++) {
			given = &batch->sums.at[i];
			if (given->event != first->event || given->from != first->from ||
			    given->to != first->to)
				break;
			if (!vec_push(&sums, given->sum))
				rc = SQLITE_NOMEM;
		}
		span.count = (uint32_t)sums.count;
		span.total = sums_total(sums.at, sums.count);
		if (rc == SQLITE_OK && sums_pack(&o->b->columns, sums.at, sums.count))
			rc = SQLITE_NOMEM;
		if (rc == SQLITE_OK)
			rc = put_block(o, first->event, FILM_BLOCK_SUMS, &span);
	}
	vec_free(&sums);
	return rc;
}

int film_blocks_write(struct film_blocks *b, struct film_batch *batch,
		      int (*write)(void *context, const struct buf *row), void *context)
{
	struct output o = {b, write, context};
	uint32_t event;
	int rc = SQLITE_OK;

	for (event = 1; rc == SQLITE_OK && event < FILM_EVENTS_MAX; event++)
		rc = write_samples(&o, event, &batch->samples[event], batch->block_span);
	if (rc == SQLITE_OK)
		rc = write_calls(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_probes(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_sums(&o, batch);
	return rc;
}

void film_blocks_free(struct film_blocks *b)
{
	columns_free(&b->columns);
	calls_packer_free(&b->calls);
	buf_free(&b->row);
}
