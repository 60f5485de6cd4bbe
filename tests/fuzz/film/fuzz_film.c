// SPDX-License-Identifier: Apache-2.0

/* A film of any bytes: it is refused with words, or keeps the promises of film/reader.h. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "film/load.h"
#include "film/merge.h"
#include "film/schema.h"
#include "query/slices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, const struct film_samples *samples)
{
	const struct film *film = context;
	size_t i;

	check(samples->count);
	for (i = 0; i < samples->count; i++) {
		check(samples->thread[i] < film->thread_count);
		check(samples->stack[i] < film->stack_count);
		check(!i || samples->time[i] >= samples->time[i - 1]);
	}
	return 0;
}

static int take_calls(void *context, const struct film_calls *calls)
{
	const struct film *film = context;
	size_t i;

	check(calls->count);
	for (i = 0; i < calls->count; i++) {
		check(calls->thread[i] < film->thread_count);
		check(calls->frame[i] < film->frame_count);
		check(calls->duration[i] <= calls->end[i]);
		check(calls->waited[i] <= calls->duration[i]);
		check(!i || calls->end[i] >= calls->end[i - 1]);
	}
	return 0;
}

static int take_waits(void *context, const struct film_waits *waits)
{
	const struct film *film = context;
	size_t i;

	check(waits->count);
	for (i = 0; i < waits->count; i++) {
		check(waits->thread[i] < film->thread_count);
		check(waits->stack[i] < film->stack_count);
		check(waits->waker[i] < film->thread_count);
		check(waits->waker_stack[i] < film->stack_count);
		check(waits->duration[i] <= waits->end[i]);
		check(!i || waits->end[i] >= waits->end[i - 1]);
	}
	return 0;
}

static int take_slice(void *context, const struct slice *slice,
		      const struct slice_evidence *evidence)
{
	const struct film *film = context;

	check(slice->end > slice->start && slice->kind < SLICE_KINDS);
	check(slice->thread && slice->thread < film->thread_count);
	check(slice->stack < film->stack_count);
	check(evidence->lock.holder < film->thread_count);
	check(slice->waker < film->thread_count);
	return 0;
}

static int take_probe(void *context, const struct film_probe *probe)
{
	const struct film *film = context;

	check(probe->frame < film->frame_count);
	return 0;
}

static int take_sum(void *context, const struct film_sum *sum)
{
	const struct film *film = context;

	check(sum->frame < film->frame_count);
	return 0;
}

static void walk(struct film *film)
{
	struct fail why = {0};
	uint64_t samples, total;
	uint32_t i;

	for (i = 0; i < film->thread_count; i++)
		check(film->threads[i].process < film->process_count);
	for (i = 0; i < film->frame_count; i++) {
		check(film->frames[i].function < film->function_count);
		check(film->frames[i].image < film->image_count);
		check(film->frames[i].start <= film->frames[i].address);
		check(strlen(film->frames[i].file) <= FILM_TEXT_MAX);
	}
	for (i = 0; i < film->inline_count; i++) {
		check(film->inlines[i].frame < film->frame_count);
		check(film->inlines[i].function < film->function_count);
	}
	for (i = 1; i < film->stack_count; i++) {
		check(film->stacks[i].parent < i);
		check(film->stacks[i].frame < film->frame_count);
	}
	for (i = 0; i < film->event_count; i++) {
		film_event_total(film, i, &samples, &total);
		if (film_each_samples(film, i, 0, UINT64_MAX, take, film, &why))
			check(why.what[0]);
		if (film_each_calls(film, i, 0, UINT64_MAX, i % 2, take_calls, film, &why))
			check(why.what[0]);
		if (film_each_waits(film, i, 0, UINT64_MAX, take_waits, film, &why))
			check(why.what[0]);
		if (slices_each(film, i, 0, UINT64_MAX, take_slice, film, &why))
			check(why.what[0]);
		if (film_each_probe(film, i, take_probe, film, &why))
			check(why.what[0]);
		if (film_each_sum(film, i, 0, UINT64_MAX, take_sum, film, &why))
			check(why.what[0]);
	}
}

/* A film that was loaded can become a part of another one, and be the same as itself. */
static void merge(struct film *film)
{
	struct film_merge *merge;
	struct fail why = {0};
	int err;

	check(!film_merge_begin(NULL, &merge, &why));
	err = film_merge_add(merge, film, &why);
	if (!err)
		err = film_merge_add(merge, film, &why);
	if (err)
		check(why.what[0]);
	film_merge_end(merge, !err, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct film *film = calloc(1, sizeof(*film));
	unsigned char *copy = sqlite3_malloc64(size + 1);
	struct fail why = {0};
	sqlite3 *db;

	film->private = calloc(1, sizeof(*film->private));
	check(sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
	film->private->db = db;
	memcpy(copy, data, size);
	if (sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) ==
		    SQLITE_OK &&
	    film_sql_distrust(db) == SQLITE_OK) {
		if (film_load(db, "film", false, film, &why))
			check(why.what[0]);
		else {
			walk(film);
			merge(film);
		}
	}
	film_free(film);
	return 0;
}
