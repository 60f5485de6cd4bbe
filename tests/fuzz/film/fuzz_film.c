// SPDX-License-Identifier: Apache-2.0

/* A film of any bytes: it is refused with words, or keeps the promises of film/reader.h. */
#include <stdlib.h>
#include <string.h>

#include "film/load.h"
#include "film/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(what)              \
	do {                     \
		if (!(what))     \
			abort(); \
	} while (0)

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
	}
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
		if (film_load(db, "film", film, &why))
			check(why.what[0]);
		else
			walk(film);
	}
	film_free(film);
	return 0;
}
