// SPDX-License-Identifier: Apache-2.0
/*
 * Minutes of hours that are over are packed: an hour's sums for long questions, its minutes beside
 * it.
 */
#include <errno.h>
#include <string.h>

#include "film/schema.h"
#include "store/index_private.h"

enum {
	BATCH = 64, /* series packed in one transaction */
};

/* An hour is over when none of its samples are expected any more. */
#define GRACE (2 * NS_MINUTE)

/* What is packed now: the sums of one series and hour. */
struct hour {
	struct index *index;
	uint32_t event, series;
	uint64_t hour;
	struct cell_sum sums[HOUR_MINUTES];
	struct cell_list minutes[HOUR_MINUTES];
	struct cell_list all;
};

static void hour_free(struct hour *h)
{
	for (int i = 0; i < HOUR_MINUTES; i++)
		vec_free(&h->minutes[i]);
	vec_free(&h->all);
}

/* Adds count cells that were unpacked, from the first on, to a list. */
static int add_cells(const struct cells_reader *r, size_t first, size_t count, struct cell_list *to)
{
	struct cell_list cells = {0};
	int err;

	if (!count)
		return 0;
	if (!vec_reserve(&cells, count))
		return -ENOMEM;
	for (size_t i = first; i < first + count; i++)
		cells.at[cells.count++] =
			(struct cell){(uint32_t)r->path.at[i], r->samples.at[i], r->value.at[i]};
	err = cells_merge(to, cells.at, cells.count);
	vec_free(&cells);
	return err;
}

static struct cell_sum sum_of_row(sqlite3_stmt *row, int column)
{
	return (struct cell_sum){
		.samples = (uint64_t)sqlite3_column_int64(row, column),
		.total = (uint64_t)sqlite3_column_int64(row, column + 1),
		.truncated = (uint64_t)sqlite3_column_int64(row, column + 2),
		.guessed = (uint64_t)sqlite3_column_int64(row, column + 3),
		.cells = (uint32_t)sqlite3_column_int64(row, column + 4),
	};
}

/* The minutes that are not packed; those that are there are removed. */
static int read_minutes(struct hour *h, struct fail *why)
{
	struct index *index = h->index;
	struct cells_reader *r = &index->cells;
	int64_t from = index_key(h->event, h->series, h->hour * HOUR_MINUTES);
	int64_t to = from + HOUR_MINUTES - 1;
	sqlite3_stmt *row = NULL;
	int err = 0, rc = sql_open(index->db, &row,
				   "SELECT key, samples, total, truncated, guessed, n, data"
				   " FROM minute WHERE key BETWEEN ? AND ?",
				   "ii", from, to);

	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		size_t minute = (size_t)(sqlite3_column_int64(row, 0) - from);
		struct cell_sum sum = sum_of_row(row, 1);

		err = cells_unpack(r, sqlite3_column_blob(row, 6),
				   (size_t)sqlite3_column_bytes(row, 6), &sum.cells, 1,
				   index->dictionary.paths.count, true);
		if (!err)
			err = add_cells(r, 0, sum.cells, &h->minutes[minute]);
		cell_sum_add(&h->sums[minute], &sum);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	if (!err && rc == SQLITE_DONE)
		rc = sql_run(index->db, "DELETE FROM minute WHERE key BETWEEN ? AND ?", "ii", from,
			     to);
	if (err == -EBADMSG)
		return index_damaged(index, why);
	if (err)
		return fail_errno(why, err, NULL, "cannot pack the index of the store");
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

/* What was packed before: something came late. */
static int read_packed(struct hour *h, struct fail *why)
{
	struct index *index = h->index;
	struct cells_reader *r = &index->cells;
	int64_t key = index_key(h->event, h->series, h->hour);
	uint32_t counts[HOUR_MINUTES];
	sqlite3_stmt *row = NULL;
	size_t first = 0;
	int err = 0, rc = sql_open(index->db, &row,
				   "SELECT minutes, hour_minutes.data FROM hour"
				   " JOIN hour_minutes USING(key) WHERE key = ?",
				   "i", key);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		err = minutes_unpack(r, sqlite3_column_blob(row, 0),
				     (size_t)sqlite3_column_bytes(row, 0), h->sums);
		for (int i = 0; i < HOUR_MINUTES; i++)
			counts[i] = h->sums[i].cells;
		if (!err)
			err = cells_unpack(r, sqlite3_column_blob(row, 1),
					   (size_t)sqlite3_column_bytes(row, 1), counts,
					   HOUR_MINUTES, index->dictionary.paths.count, true);
		for (int i = 0; !err && i < HOUR_MINUTES; first += counts[i++])
			err = add_cells(r, first, counts[i], &h->minutes[i]);
	}
	sqlite3_finalize(row);
	if (err == -EBADMSG)
		return index_damaged(index, why);
	if (err)
		return fail_errno(why, err, NULL, "cannot pack the index of the store");
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : index_failed(index, index->db, rc, why);
}

#define HOUR_VALUES " VALUES(?, ?, ?, ?, ?, ?, ?, ?)"

static int write_hour(struct hour *h, const char *sql, const struct cell_sum *sum)
{
	struct index *index = h->index;
	struct columns *c = &index->columns;
	int64_t key = index_key(h->event, h->series, h->hour);
	uint32_t n = (uint32_t)h->all.count;
	struct buf minutes;
	int rc = SQLITE_NOMEM;

	if (minutes_pack(c, h->sums))
		return rc;
	minutes = c->packed;
	c->packed = (struct buf){0};
	if (!cells_pack(c, h->all.at, &n, 1))
		rc = sql_run(index->db, sql, "iiiiiibb", key, (int64_t)sum->samples,
			     (int64_t)sum->total, (int64_t)sum->truncated, (int64_t)sum->guessed,
			     (int64_t)n, minutes.at, minutes.count, c->packed.at, c->packed.count);
	buf_free(&minutes);
	return rc;
}

static int write_minutes(struct hour *h)
{
	struct index *index = h->index;
	struct columns *c = &index->columns;
	struct cell_list cells = {0};
	uint32_t counts[HOUR_MINUTES];
	size_t count = 0;
	int rc = SQLITE_NOMEM;

	for (int i = 0; i < HOUR_MINUTES; i++)
		count += counts[i] = (uint32_t)h->minutes[i].count;
	if (!vec_reserve(&cells, count))
		return rc;
	for (int i = 0; i < HOUR_MINUTES; i++) {
		if (counts[i])
			memcpy(cells.at + cells.count, h->minutes[i].at,
			       counts[i] * sizeof(*cells.at));
		cells.count += counts[i];
	}
	if (!cells_pack(c, cells.at, counts, HOUR_MINUTES))
		rc = sql_run(index->db, "INSERT OR REPLACE INTO hour_minutes VALUES(?, ?)", "ib",
			     index_key(h->event, h->series, h->hour), c->packed.at,
			     c->packed.count);
	vec_free(&cells);
	return rc;
}

/* What all series of the service had in that hour is not true any more. */
static int drop_service_hour(struct index *index, uint32_t event, uint32_t series, uint64_t hour)
{
	uint32_t group = dictionary_series_at(&index->dictionary, series)->group;

	return sql_run(index->db, "DELETE FROM service_hour WHERE key = ?", "i",
		       index_key(event, group, hour));
}

static int pack_hour(struct hour *h, struct fail *why)
{
	struct cell_sum sum = {0};
	int err = read_packed(h, why), rc = SQLITE_OK;

	if (!err)
		err = read_minutes(h, why);
	for (int i = 0; !err && i < HOUR_MINUTES; i++) {
		cell_sum_add(&sum, &h->sums[i]);
		h->sums[i].cells = (uint32_t)h->minutes[i].count;
		if (cells_merge(&h->all, h->minutes[i].at, h->minutes[i].count))
			err = fail_errno(why, -ENOMEM, NULL, "cannot pack the index of the store");
	}
	if (err || !h->all.count)
		return err;
	rc = write_hour(h, "INSERT OR REPLACE INTO hour" HOUR_VALUES, &sum);
	if (rc == SQLITE_OK)
		rc = write_minutes(h);
	if (rc == SQLITE_OK)
		rc = drop_service_hour(h->index, h->event, h->series, h->hour);
	return rc == SQLITE_OK ? 0 : index_failed(h->index, h->index->db, rc, why);
}

/* The key of the first minute from that key on; SQLITE_DONE: there is none. */
static int first_minute(struct index *index, int64_t from, int64_t *key)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(index->db, &row,
			  "SELECT key FROM minute WHERE key >= ? ORDER BY key LIMIT 1", "i", from);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		*key = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/*
 * Packs some hours before `until`, from *key on, where it leaves the next one; *more: there may be
 * others.
 */
static int pack_some(struct index *index, int64_t *key, uint64_t until, struct map *touched,
		     bool *more, struct fail *why)
{
	int rc = SQLITE_OK, err = 0;

	*more = false;
	for (int i = 0; !err && i < BATCH; i++) {
		struct hour h = {.index = index};
		uint64_t minute;

		rc = first_minute(index, *key, key);
		if (rc != SQLITE_OK)
			break;
		minute = key_time(*key);
		h.event = key_event(*key);
		h.series = key_series(*key);
		h.hour = minute / HOUR_MINUTES;
		if (h.hour >= until) {
			*key = index_key(h.event, h.series + 1, 0);
			*more = true;
			continue;
		}
		if (!h.series || h.series >= index->dictionary.series.count)
			return index_damaged(index, why);
		err = pack_hour(&h, why);
		hour_free(&h);
		if (!err &&
		    !map_put(touched,
			     (uint64_t)index_key(
				     h.event,
				     dictionary_series_at(&index->dictionary, h.series)->group,
				     h.hour),
			     0))
			err = fail_errno(why, -ENOMEM, NULL, "cannot pack the index of the store");
		*key = index_key(h.event, h.series, (h.hour + 1) * HOUR_MINUTES);
		*more = true;
	}
	if (err)
		return err;
	if (rc == SQLITE_DONE)
		*more = false;
	return rc == SQLITE_OK || rc == SQLITE_DONE ? 0 : index_failed(index, index->db, rc, why);
}

/* Adds the hour of one series to what the service had. */
static int add_series_hour(struct hour *to, sqlite3_stmt *get, uint32_t series, uint32_t *count,
			   struct fail *why)
{
	struct index *index = to->index;
	struct cells_reader *r = &index->cells;
	struct cell_sum minutes[HOUR_MINUTES];
	int rc, err = 0;

	sqlite3_bind_int64(get, 1, index_key(to->event, series, to->hour));
	rc = sqlite3_step(get);
	if (rc == SQLITE_ROW) {
		uint32_t n = (uint32_t)sqlite3_column_int64(get, 0);

		err = minutes_unpack(r, sqlite3_column_blob(get, 1),
				     (size_t)sqlite3_column_bytes(get, 1), minutes);
		for (int i = 0; !err && i < HOUR_MINUTES; i++)
			cell_sum_add(&to->sums[i], &minutes[i]);
		if (!err)
			err = cells_unpack(r, sqlite3_column_blob(get, 2),
					   (size_t)sqlite3_column_bytes(get, 2), &n, 1,
					   index->dictionary.paths.count, true);
		if (!err)
			err = add_cells(r, 0, n, &to->all);
		++*count;
	}
	sqlite3_reset(get);
	if (err == -EBADMSG)
		return index_damaged(index, why);
	if (err)
		return fail_errno(why, err, NULL, "cannot pack the index of the store");
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : index_failed(index, index->db, rc, why);
}

/*
 * The hour of a service over all its series, if it has more than one: one list is read instead of
 * many.
 */
static int add_up_service(struct index *index, sqlite3_stmt *get, int64_t key, struct fail *why)
{
	const struct dictionary *d = &index->dictionary;
	struct hour to = {
		.index = index,
		.event = key_event(key),
		.series = key_series(key),
		.hour = key_time(key),
	};
	struct cell_sum sum = {0};
	uint32_t count = 0;
	int err = 0, rc = SQLITE_OK;

	for (uint32_t i = to.series; !err && i < d->series.count; i++)
		if (dictionary_series_at(d, i)->group == to.series)
			err = add_series_hour(&to, get, i, &count, why);
	if (!err && count > 1) {
		for (int i = 0; i < HOUR_MINUTES; i++)
			cell_sum_add(&sum, &to.sums[i]);
		rc = write_hour(&to, "INSERT OR REPLACE INTO service_hour" HOUR_VALUES, &sum);
	}
	hour_free(&to);
	if (err)
		return err;
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

static int add_up_services(struct index *index, const struct map *touched, struct fail *why)
{
	uint64_t key, unused;
	int err = 0;

	for (size_t i = 0; !err && map_next(touched, &i, &key, &unused);) {
		sqlite3_stmt *get = NULL;
		int rc;

		err = index_begin(index, why);
		if (err)
			return err;
		rc = sql_open(index->db, &get, "SELECT n, minutes, data FROM hour WHERE key = ?",
			      "");
		err = rc == SQLITE_OK ? add_up_service(index, get, (int64_t)key, why)
				      : index_failed(index, index->db, rc, why);
		sqlite3_finalize(get);
		err = index_end(index, err, why);
	}
	return err;
}

int index_compact(struct index *index, uint64_t now, struct fail *why)
{
	uint64_t until = now > GRACE ? (now - GRACE) / NS_HOUR : 0;
	struct map touched = {0};
	bool more = true, idle = true;
	int64_t key = 0;
	int err = 0;

	while (!err && more) {
		err = index_begin(index, why);
		if (err)
			break;
		if (!key) {
			idle = index->packed_hour == until && !index->came_late;
			index->came_late = false;
		}
		more = false;
		if (!idle)
			err = pack_some(index, &key, until, &touched, &more, why);
		if (!err && !more)
			err = index_tidy_dictionary(index, why);
		if (!err && !more)
			index->packed_hour = until;
		/*
		 * what retention has freed goes back to the disk, piece by piece; if not now, then
		 * later
		 */
		if (!err)
			film_sql_run(index->db, "PRAGMA incremental_vacuum(256)");
		err = index_end(index, err, why);
	}
	if (!err)
		err = add_up_services(index, &touched, why);
	map_free(&touched);
	return err;
}

/* Of one series and hour. */
static int remove_series_hour(struct index *index, uint32_t event, uint32_t series, uint64_t hour)
{
	int64_t minute = index_key(event, series, hour * HOUR_MINUTES);
	int64_t key = index_key(event, series, hour);
	int rc = sql_run(index->db, "DELETE FROM minute WHERE key BETWEEN ? AND ?", "ii", minute,
			 minute + HOUR_MINUTES - 1);

	if (rc == SQLITE_OK)
		rc = sql_run(index->db, "DELETE FROM hour WHERE key = ?", "i", key);
	if (rc == SQLITE_OK && sqlite3_changes(index->db))
		rc = sql_run(index->db, "DELETE FROM hour_minutes WHERE key = ?", "i", key);
	return rc == SQLITE_OK ? drop_service_hour(index, event, series, hour) : rc;
}

int index_remove_hour(struct index *index, const char *host, uint64_t hour, struct fail *why)
{
	const struct dictionary *d = &index->dictionary;
	int rc = sql_run(index->db, "DELETE FROM lost WHERE host = ? AND hour = ?", "ti", host,
			 (int64_t)hour);

	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "DELETE FROM lost_minute WHERE host = ? AND minute BETWEEN ? AND ?",
			     "tii", host, (int64_t)(hour * HOUR_MINUTES),
			     (int64_t)(hour * HOUR_MINUTES + HOUR_MINUTES - 1));
	if (rc == SQLITE_OK)
		rc = index_filmed_remove_hour(index, host, hour);
	for (uint32_t event = 1; event < index->event_count; event++)
		for (uint32_t i = 1; rc == SQLITE_OK && i < d->series.count; i++)
			if (!strcmp(dictionary_series_at(d, i)->host, host))
				rc = remove_series_hour(index, event, i, hour);
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}
