// SPDX-License-Identifier: Apache-2.0
#include "sources/machine/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* Tracks of machines with more disks and interfaces than that are not all kept. */
#define SERIES_MAX 4096

/* A row is of at most this long, so that what covers a moment ends soon behind it. */
#define ROW_NS 1000000000ull

struct series {
	char object[32];	   /* names of devices and interfaces are shorter */
	struct machine_value last; /* of what flows, the sums; its object is null */
	uint64_t at;		   /* of the last reading that had it */
	struct film_gauge row;	   /* not written yet */
	bool has_row, has_begun;
};

struct machine_series {
	struct machine_series_to to;
	vec(struct series) all;
	struct map known; /* of kind and object, a hash: its place */
	uint64_t now, refused;
};

struct machine_series *machine_series_new(const struct machine_series_to *to)
{
	struct machine_series *series = calloc(1, sizeof(*series));

	if (series)
		series->to = *to;
	return series;
}

void machine_series_free(struct machine_series *series)
{
	if (!series)
		return;
	vec_free(&series->all);
	map_free(&series->known);
	free(series);
}

void machine_series_begin(struct machine_series *series, uint64_t now)
{
	series->now = now;
}

static struct series *find(struct machine_series *all, const struct machine_value *value)
{
	uint64_t key = hash_bytes(value->object, strlen(value->object)) ^
		       hash_u64((uint64_t)value->kind + 1);
	const uint64_t *known = map_get(&all->known, key);
	struct series series = {0};

	if (known)
		return &all->all.at[*known];
	if (all->all.count >= SERIES_MAX || strlen(value->object) >= sizeof(series.object) ||
	    !vec_push(&all->all, series))
		return NULL;
	if (!map_put(&all->known, key, all->all.count - 1)) {
		all->all.count--;
		return NULL;
	}
	strcpy(vec_last(&all->all)->object, value->object);
	return vec_last(&all->all);
}

static void write_row(struct machine_series *all, struct series *series)
{
	if (!series->has_row)
		return;
	series->has_row = false;
	if (*series->object && !series->row.object)
		series->row.object = all->to.row(all->to.context, series->object);
	all->to.write(all->to.context, &series->row);
}

/* Whether one row can say both: nothing happened, or the level is the same. */
static bool goes_on(const struct series *series, const struct film_gauge *next)
{
	const struct film_gauge *row = &series->row;

	return series->has_row && row->end == next->end - next->duration &&
	       row->value == next->value && row->count == next->count && row->time == next->time &&
	       row->longest == next->longest && row->duration + next->duration <= ROW_NS &&
	       (film_gauge_type(row->kind)->is_level || (!row->value && !row->count));
}

static void put(struct machine_series *all, struct series *series, const struct film_gauge *next)
{
	uint32_t object = series->row.object;

	if (goes_on(series, next)) {
		series->row.end = next->end;
		series->row.duration += next->duration;
		return;
	}
	write_row(all, series);
	/* what it is of, once known, stays so for this film */
	object = series->row.object ? series->row.object : object;
	series->row = *next;
	series->row.object = object;
	series->has_row = true;
}

/* What a sum has grown by. It may fall: a device was taken out and put in. */
static uint64_t growth(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

void machine_series_add(void *context, const struct machine_value *value)
{
	struct machine_series *all = context;
	struct series *series = find(all, value);
	struct film_gauge row = {.end = all->now, .kind = (uint16_t)value->kind};
	uint64_t before;

	if (!series) {
		all->refused++;
		return;
	}
	before = series->at;
	if (!before) {
		/* of what was before the first reading nothing is known */
		series->at = all->now;
		series->last = *value;
		return;
	}
	row.duration = all->now - before;
	if (film_gauge_type(value->kind)->is_level) {
		row.value = value->value;
		row.count = value->count;
		row.time = value->time;
		row.longest = value->longest;
	} else {
		row.value = growth(series->last.value, value->value);
		row.count = growth(series->last.count, value->count);
		row.time = growth(series->last.time, value->time);
	}
	series->at = all->now;
	series->last = *value;
	if (film_gauge_type(value->kind)->lags && row.value > row.duration) {
		/* a part was before: no more than all the time; the rest is due next */
		series->last.value -= row.value - row.duration;
		row.value = row.duration;
	}
	/* a device that does nothing in a film takes no room there */
	series->has_begun |= !*series->object || row.value || row.count;
	if (series->has_begun)
		put(all, series, &row);
}

void machine_series_end(struct machine_series *all)
{
	/* of what was read no more nothing is known: its row ends where it was read last */
	vec_foreach (&all->all, series)
		if (series->at && series->at != all->now) {
			write_row(all, series);
			series->at = 0;
		}
}

void machine_series_flush(struct machine_series *all)
{
	vec_foreach (&all->all, series)
		write_row(all, series);
}

void machine_series_turn(struct machine_series *all)
{
	vec_foreach (&all->all, series) {
		series->row = (struct film_gauge){0};
		series->has_row = series->has_begun = false;
	}
}

uint64_t machine_series_refused(const struct machine_series *all)
{
	return all->refused;
}
