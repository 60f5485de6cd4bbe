// SPDX-License-Identifier: Apache-2.0
/*
 * From the index to ClickHouse. A round looks which hours of which services have more samples than
 * ClickHouse has confirmed, reads these hours as a whole, and sends them. What ClickHouse does not
 * confirm is read and sent again by a later round.
 */
#include "store/fleet/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "film/events.h"
#include "store/fleet/round.h"
#include "store/room.h"

enum {
	BATCH_BYTES = 16 << 20, /* of rows; a batch is larger by one hour of one service at most */
	BATCH_HOURS = 4096,	/* of services */
	BATCH_DAYS = 90,	/* a partition each: ClickHouse takes at most 100 in an insert */
	KNOWN_MAX = 1 << 22,
};

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot send sums");
}

int round_no_memory(struct round *r)
{
	return no_memory(r->why);
}

int fleet_export_new(struct store *store, const atomic_bool *stop, struct fleet_export **result,
		     struct fail *why)
{
	struct fleet_export *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return no_memory(why);
	*e = (struct fleet_export){.store = store, .fleet = store->fleet, .stop = stop};
	err = ledger_open(store->path, &e->ledger, why);
	if (err)
		free(e);
	else
		*result = e;
	return err;
}

void fleet_export_free(struct fleet_export *e)
{
	if (!e)
		return;
	ledger_free(e->ledger);
	map_free(&e->known);
	free(e);
}

struct asked round_asks(struct round *r, const struct store_ask *ask, uint32_t event,
			uint64_t first, uint64_t end)
{
	return (struct asked){
		.store = r->e->store,
		.index = r->index,
		.ask = ask,
		.event = event,
		.event_name = r->index->events[event].name,
		.unit = r->index->events[event].unit,
		.from = first * NS_HOUR,
		.to = end * NS_HOUR,
		.first = first * HOUR_MINUTES,
		.end = end * HOUR_MINUTES,
	};
}

int round_each(struct round *r, struct asked *asked, enum sums_what what,
	       int (*row)(void *context, const struct sums_row *row))
{
	struct sums_view *view;
	int err = index_sums.open(asked, &view, r->why);

	if (err)
		return err;
	r->dictionary = view->dictionary;
	err = index_sums.select(asked, view, what, r->why);
	if (!err)
		err = index_sums.each(asked, view, what, row, r, r->why);
	index_sums.close(asked, view, NULL);
	return err;
}

/* What there is to send */

static int count_row(void *context, const struct sums_row *row)
{
	struct round *r = context;
	uint64_t service = dictionary_series_at(r->dictionary, row->series)->group;
	uint64_t key = service << 32 | row->minute / HOUR_MINUTES;
	const uint64_t *known = map_get(&r->samples_of, key);

	return map_put(&r->samples_of, key, (known ? *known : 0) + row->sum.samples)
		       ? 0
		       : round_no_memory(r);
}

static int find_changes_of(struct round *r, uint32_t event, uint64_t first, uint64_t end)
{
	const struct store_ask ask = {.event = r->index->events[event].name};
	struct asked asked = round_asks(r, &ask, event, first, end);
	uint64_t key, samples;
	int err;

	asked.one_service = true;
	err = round_each(r, &asked, SUMS_TOTALS, count_row);
	for (size_t i = 0; !err && map_next(&r->samples_of, &i, &key, &samples);) {
		const struct dictionary_series *s =
			dictionary_series_at(&r->index->dictionary, (uint32_t)(key >> 32));
		struct change change = {event,
					{asked.event_name, s->service, (uint32_t)key, samples}};
		bool is_new;

		err = ledger_see(r->e->ledger, &change.hour, &is_new, r->why);
		if (!err && is_new && !vec_push(&r->changes, change))
			err = round_no_memory(r);
	}
	map_free(&r->samples_of);
	return err;
}

static bool is_summed(const struct index_event *event)
{
	return !event->is_calls && !event_find(event->name, event->unit)->is_level;
}

static int by_hour(const void *x, const void *y)
{
	const struct change *a = x, *b = y;

	if (a->hour.hour != b->hour.hour)
		return a->hour.hour < b->hour.hour ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return strcmp(a->hour.service, b->hour.service);
}

static int find_changes(struct round *r, uint64_t first, uint64_t end)
{
	uint32_t events = r->index->event_count;
	int err = 0;

	for (uint32_t i = 1; !err && i < events; i++)
		if (is_summed(&r->index->events[i]))
			err = find_changes_of(r, i, first, end);
	if (!err && r->changes.count)
		qsort(r->changes.at, r->changes.count, sizeof(*r->changes.at), by_hour);
	return err;
}

/* Batches */

static void drop_batch(struct round *r)
{
	for (int i = 0; i < FLEET_TABLES; i++) {
		r->rows[i].count = 0;
		r->rows[i].failed = false;
	}
	r->hours.count = r->fresh.count = 0;
}

/* What others name goes first, so that no sum in ClickHouse has a stack that is not there. */
static int send_batch(struct round *r)
{
	struct fleet_export *e = r->e;
	int err = 0;

	if (!r->hours.count)
		return 0;
	for (int i = 0; !err && i < FLEET_TABLES; i++)
		err = fleet_insert(&r->client, fleet_tables[i].name, &r->rows[i], r->why);
	if (!err)
		err = ledger_confirm(e->ledger, r->hours.at, r->hours.count, r->why);
	if (err)
		return err;
	drop_batch(r);
	r->batch = ledger_batch(e->ledger);
	return 0;
}

/* Whether the next change begins another batch. */
static bool is_full(const struct round *r, const struct change *next)
{
	size_t bytes = 0;

	for (int i = 0; i < FLEET_TABLES; i++)
		bytes += r->rows[i].count;
	return r->hours.count && (bytes >= BATCH_BYTES || r->hours.count >= BATCH_HOURS ||
				  next->hour.hour / 24 - r->hours.at[0].hour / 24 >= BATCH_DAYS);
}

static int send_changes(struct round *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->changes.count; i++) {
		const struct change *change = &r->changes.at[i];
		bool is_first = !i || change[-1].event != change->event ||
				change[-1].hour.hour != change->hour.hour;

		if (is_full(r, change))
			err = send_batch(r);
		if (!err)
			err = round_put(r, change, is_first);
	}
	return err ? err : send_batch(r);
}

/* Until when all that films had when the round began has come. */
static int send_until(struct round *r, uint64_t until)
{
	struct buf b = {0};
	int err;

	fleet_put_text(&b, ledger_collector(r->e->ledger));
	fleet_put_u64(&b, until);
	fleet_put_u64(&b, r->batch);
	err = fleet_insert(&r->client, fleet_tables[FLEET_COLLECTORS].name, &b, r->why);
	buf_free(&b);
	if (!err)
		r->e->fleet->until = until;
	return err;
}

/* Hours that the index has no more, and ClickHouse never had. */
static int count_lost(struct round *r, uint64_t first)
{
	uint64_t lost;
	int err = ledger_forget(r->e->ledger, first, &lost, r->why);

	if (!err)
		r->e->fleet->lost += lost;
	return err;
}

static void round_free(struct round *r)
{
	/* a batch that was not confirmed may or may not have come: it comes again */
	vec_foreach (&r->fresh, hash)
		map_remove(&r->e->known, *hash);
	for (int i = 0; i < FLEET_TABLES; i++)
		buf_free(&r->rows[i]);
	vec_free(&r->changes);
	vec_free(&r->hours);
	vec_free(&r->fresh);
	vec_free(&r->minutes);
	vec_free(&r->fns);
	vec_free(&r->marks);
	map_free(&r->fn_of);
	map_free(&r->value_of);
	map_free(&r->samples_of);
	map_free(&r->minute_of);
	fleet_disconnect(&r->client);
	index_free(r->index);
}

static int make_round(struct round *r, uint64_t now)
{
	struct fleet_export *e = r->e;
	struct index_status status;
	uint64_t until = store_complete_until(
		e->store, &(struct store_span){.from = 1, .to = now, .is_read = false});
	uint64_t first, end;
	bool all = clock_ns() >= e->all_at;
	int err;

	index_status(r->index, &status);
	if (!status.last) {
		err = fleet_prepare(&r->client, r->why);
		if (!err)
			err = round_send_names(r);
		return err ? err : send_until(r, until);
	}
	first = status.first / NS_HOUR;
	end = status.last / NS_HOUR + 1;
	err = count_lost(r, first);
	if (!all && e->from_hour > first)
		first = e->from_hour;
	/* also where ClickHouse is away: what goes meanwhile was seen, and is counted as lost */
	if (!err)
		err = find_changes(r, first, end);
	if (!err)
		err = fleet_prepare(&r->client, r->why);
	if (!err)
		err = send_changes(r);
	if (!err)
		err = round_send_names(r);
	if (!err)
		err = send_until(r, until);
	if (err)
		return err;
	/* what comes late for earlier hours is found when all are looked at */
	e->from_hour = end > 2 ? end - 2 : 0;
	if (all)
		e->all_at = clock_ns() + NS_HOUR;
	return 0;
}

int fleet_export_round(struct fleet_export *e, uint64_t now, struct fail *why)
{
	struct round r = {.e = e, .index = store_index(e->store), .why = why};
	int err = fleet_connect(e->fleet, e->stop, &r.client, why);

	if (e->known.count > KNOWN_MAX)
		map_free(&e->known);
	r.batch = ledger_batch(e->ledger);
	if (!err)
		err = make_round(&r, now);
	round_free(&r);
	return err;
}
