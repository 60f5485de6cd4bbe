// SPDX-License-Identifier: Apache-2.0
/* The rows of an hour of a service: what the index knows, in the columns of the tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/fleet/round.h"

#define MINUTE_SECONDS 60
#define HOUR_SECONDS   3600

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_u64(hash ^ hash_bytes(text, strlen(text)));
}

/* Whether ClickHouse must be given what has that hash; then the batch has it from here on. */
static bool is_fresh(struct round *r, uint64_t hash)
{
	if (map_get(&r->e->known, hash))
		return false;
	if (!map_put(&r->e->known, hash, 1) || !vec_push(&r->fresh, hash))
		r->rows[FLEET_FUNCTIONS].failed = true;
	return true;
}

static uint64_t put_function(struct round *r, uint32_t id)
{
	const struct dictionary_function *f = dictionary_function_at(r->dictionary, id);
	const uint64_t *known = map_get(&r->fn_of, id);
	const struct film_image *image = dictionary_image_at(r->dictionary, f->image);
	const char *path = image->path ? image->path : "";
	struct buf *b = &r->rows[FLEET_FUNCTIONS];
	uint64_t fn;

	if (known)
		return *known;
	fn = hash_text(hash_text((uint64_t)f->kind << 1 | f->is_place, f->name), path);
	fn = hash_u64(fn ^ hash_bytes(image->build_id, image->build_id_size) ^ image->kind);
	if (!map_put(&r->fn_of, id, fn))
		b->failed = true;
	if (!is_fresh(r, fn))
		return fn;
	fleet_put_u64(b, fn);
	fleet_put_text(b, f->name);
	buf_put_u8(b, f->kind);
	buf_put_u8(b, f->is_place);
	fleet_put_text(b, path);
	buf_put_u8(b, (uint8_t)image->kind);
	fleet_put_bytes(b, image->build_id, image->build_id_size);
	return fn;
}

static int by_number(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* Every function once: of one that stands several times on the stack, one row is enough. */
static void put_fn_stacks(struct round *r, uint64_t stack)
{
	struct buf *b = &r->rows[FLEET_FN_STACKS];

	qsort(r->fns.at, r->fns.count, sizeof(*r->fns.at), by_number);
	for (size_t i = 0; i < r->fns.count; i++) {
		if (i && r->fns.at[i] == r->fns.at[i - 1])
			continue;
		fleet_put_u64(b, r->fns.at[i]);
		fleet_put_text(b, r->change->hour.service);
		fleet_put_u64(b, stack);
	}
}

/* The functions of a path, outermost frame first, and how each was found. */
static bool find_functions(struct round *r, uint32_t id)
{
	const struct dictionary *d = r->dictionary;
	size_t depth = 0;

	for (uint32_t at = id; at; at = dictionary_path_at(d, at)->parent)
		depth++;
	if (!vec_reserve(&r->fns, depth) || !vec_reserve(&r->marks, depth))
		return false;
	r->fns.count = r->marks.count = depth;
	for (uint32_t at = id; at && depth--;) {
		const struct dictionary_path *path = dictionary_path_at(d, at);

		r->fns.at[depth] = put_function(r, path->function);
		r->marks.at[depth] = path->flags;
		at = path->parent;
	}
	return true;
}

static uint64_t put_stack(struct round *r, uint32_t id)
{
	const char *service = r->change->hour.service;
	struct buf *b = &r->rows[FLEET_STACKS];
	uint64_t stack = hash_text(0, service);

	if (!find_functions(r, id)) {
		b->failed = true;
		return 0;
	}
	for (size_t i = 0; i < r->fns.count; i++)
		stack = hash_u64(stack ^ hash_u64(r->fns.at[i] + r->marks.at[i]));
	if (!is_fresh(r, stack))
		return stack;
	fleet_put_text(b, service);
	fleet_put_u64(b, stack);
	buf_put_varint(b, r->fns.count);
	vec_foreach (&r->fns, fn)
		fleet_put_u64(b, *fn);
	fleet_put_bytes(b, r->marks.at, r->marks.count);
	put_fn_stacks(r, stack);
	return stack;
}

static int add_paths(void *context, const struct sums_row *row)
{
	struct round *r = context;

	for (size_t i = 0; i < row->count; i++) {
		const uint64_t *known = map_get(&r->value_of, row->path[i]);

		if (!map_put(&r->value_of, row->path[i], (known ? *known : 0) + row->value[i]))
			return round_no_memory(r);
	}
	return 0;
}

static void put_end(struct round *r, struct buf *b)
{
	fleet_put_text(b, ledger_collector(r->e->ledger));
	fleet_put_u64(b, r->batch);
}

static int put_sums(struct round *r, struct asked *asked)
{
	const struct ledger_hour *hour = &r->change->hour;
	struct buf *b = &r->rows[FLEET_SUMS];
	uint64_t path, value;
	int err;

	asked->one_service = true;
	err = round_each(r, asked, SUMS_PATHS, add_paths);
	for (size_t i = 0; !err && map_next(&r->value_of, &i, &path, &value);) {
		uint64_t stack = put_stack(r, (uint32_t)path);

		fleet_put_u32(b, (uint32_t)(hour->hour * HOUR_SECONDS));
		fleet_put_text(b, hour->service);
		fleet_put_text(b, hour->event);
		fleet_put_u64(b, stack);
		fleet_put_u64(b, value);
		put_end(r, b);
	}
	map_free(&r->value_of);
	return err;
}

/* Minutes of a series may come in several rows, and a row of the table is all of a minute. */
static int add_minute(void *context, const struct sums_row *row)
{
	struct round *r = context;
	uint64_t key = (uint64_t)row->series << 32 | row->minute;
	const uint64_t *known = map_get(&r->minute_of, key);

	if (known) {
		cell_sum_add(&r->minutes.at[*known], &row->sum);
		return 0;
	}
	return vec_push(&r->minutes, row->sum) && map_put(&r->minute_of, key, r->minutes.count - 1)
		       ? 0
		       : round_no_memory(r);
}

static int put_series(struct round *r, struct asked *asked)
{
	struct buf *b = &r->rows[FLEET_SERIES];
	uint64_t key, at;
	int err;

	r->minutes.count = 0;
	asked->one_service = false;
	err = round_each(r, asked, SUMS_MINUTES, add_minute);
	for (size_t i = 0; !err && map_next(&r->minute_of, &i, &key, &at);) {
		const struct cell_sum *sum = &r->minutes.at[at];
		const struct dictionary_series *s =
			dictionary_series_at(r->dictionary, (uint32_t)(key >> 32));

		fleet_put_u32(b, (uint32_t)key * MINUTE_SECONDS);
		fleet_put_text(b, s->host);
		fleet_put_text(b, s->service);
		fleet_put_text(b, s->version);
		fleet_put_text(b, s->labels);
		fleet_put_text(b, asked->event_name);
		fleet_put_u64(b, sum->samples);
		fleet_put_u64(b, sum->total);
		fleet_put_u64(b, sum->truncated);
		fleet_put_u64(b, sum->guessed);
		put_end(r, b);
	}
	map_free(&r->minute_of);
	return err;
}

static void put_filmed(void *context, const char *host, uint64_t first, uint64_t last)
{
	struct round *r = context;
	struct buf *b = &r->rows[FLEET_FILMED];
	uint64_t begin = r->change->hour.hour * NS_HOUR, end = begin + NS_HOUR;

	fleet_put_u32(b, (uint32_t)(r->change->hour.hour * HOUR_SECONDS));
	fleet_put_text(b, host);
	fleet_put_text(b, r->change->hour.event);
	fleet_put_u64(b, first > begin ? first : begin);
	fleet_put_u64(b, last < end ? last : end);
	put_end(r, b);
}

static void put_lost(void *context, const struct index_lost *lost)
{
	struct round *r = context;
	struct buf *b = &r->rows[FLEET_LOST];

	fleet_put_u32(b, (uint32_t)(r->change->hour.hour * HOUR_SECONDS));
	fleet_put_text(b, lost->host);
	fleet_put_text(b, lost->is_of_event ? r->change->hour.event : "");
	buf_put_u8(b, lost->is_part);
	fleet_put_u64(b, lost->count);
	put_end(r, b);
}

/* What is known of an event's hour beside its sums, once for all its services. */
static int put_hour(struct round *r, struct asked *asked)
{
	const struct index_filmed_ask ask = {NULL, asked->event, asked->from, asked->to};
	struct sums_view *view;
	int err = index_sums.open(asked, &view, r->why), rc;

	if (err)
		return err;
	rc = index_filmed_each(index_view(view), &ask, put_filmed, r);
	if (rc == SQLITE_OK)
		rc = index_lost_each(index_view(view), asked->event, r->change->hour.hour, put_lost,
				     r);
	if (rc != SQLITE_OK)
		err = index_failed(r->index, index_view(view)->db, rc, r->why);
	index_sums.close(asked, view, NULL);
	return err;
}

int round_put(struct round *r, const struct change *change, bool is_first)
{
	const struct store_ask ask = {.event = change->hour.event, .service = change->hour.service};
	uint64_t hour = change->hour.hour;
	struct asked asked = round_asks(r, &ask, change->event, hour, hour + 1);
	int err;

	r->change = change;
	err = put_sums(r, &asked);
	if (!err)
		err = put_series(r, &asked);
	if (!err && is_first)
		err = put_hour(r, &asked);
	if (!err && !vec_push(&r->hours, change->hour))
		err = round_no_memory(r);
	return err;
}
