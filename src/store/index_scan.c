// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of an index that belong to an ask: whole hours, minutes of the hours at both ends, and
 * what is not packed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/ask_private.h"

struct scan {
	const struct asked *asked;
	struct index_reader *reader;
	bool paths, minutely;
	int (*emit)(void *context, const struct sums_row *row);
	void *context;
	struct fail *why;
	uint64_t first, end; /* whole hours within the time: [first, end) */
	uint8_t *covered;    /* by whole hour: the service's own sum was taken */
	sqlite3_stmt *hours, *services, *minutes, *part;
};

/* Hours: of each series every one is looked at. */
#define LONG_TIME 10000

enum {
	/*
	 * the columns of all statements here; data and minutes may be missing where they are not
	 * wanted
	 */
	COLUMN_KEY,
	COLUMN_SAMPLES,
	COLUMN_TOTAL,
	COLUMN_TRUNCATED,
	COLUMN_GUESSED,
	COLUMN_N,
	COLUMN_DATA,
	COLUMN_MINUTES,
};

static int unpacked(struct scan *s, int err)
{
	if (err == -EBADMSG)
		return index_damaged(s->asked->index, s->why);
	return err ? fail_errno(s->why, err, NULL, "cannot ask the store") : 0;
}

/* Passes a row on, with the paths that are kept. Its arrays are the reader's own. */
static int pass_on(struct scan *s, struct sums_row *row, uint64_t *path, uint64_t *value)
{
	const uint8_t *kept = s->asked->kept;
	size_t count = 0;

	row->path = path;
	row->value = value;
	if (!kept || !s->paths)
		return s->emit(s->context, row);
	row->sum = (struct cell_sum){0};
	for (size_t i = 0; i < row->count; i++) {
		if (!kept[path[i]])
			continue;
		path[count] = path[i];
		value[count++] = value[i];
		/* no part can overflow where the whole does not */
		row->sum.total += value[i];
	}
	row->count = count;
	return count ? s->emit(s->context, row) : 0;
}

/* A row that stands for itself: of an hour, or of a minute. */
static int emit_row(struct scan *s, sqlite3_stmt *row, uint64_t minute)
{
	struct cells_reader *r = &s->reader->cells;
	struct sums_row out = {
		.series = key_series(sqlite3_column_int64(row, COLUMN_KEY)),
		.minute = minute,
		.sum =
			{
				.samples = (uint64_t)sqlite3_column_int64(row, COLUMN_SAMPLES),
				.total = (uint64_t)sqlite3_column_int64(row, COLUMN_TOTAL),
				.truncated = (uint64_t)sqlite3_column_int64(row, COLUMN_TRUNCATED),
				.guessed = (uint64_t)sqlite3_column_int64(row, COLUMN_GUESSED),
			},
	};
	uint64_t *path = NULL, *value = NULL;
	int err;

	if (s->paths) {
		uint32_t n = (uint32_t)sqlite3_column_int64(row, COLUMN_N);

		err = unpacked(s, cells_unpack(r, sqlite3_column_blob(row, COLUMN_DATA),
					       (size_t)sqlite3_column_bytes(row, COLUMN_DATA), &n,
					       1, s->reader->view.paths, false));
		if (err)
			return err;
		path = r->path.at;
		value = r->value.at;
		out.count = r->path.count;
	}
	return pass_on(s, &out, path, value);
}

/* The minutes of a packed hour that lie in the time. */
static int emit_minutes(struct scan *s, sqlite3_stmt *row)
{
	struct cells_reader *r = &s->reader->cells;
	int64_t key = sqlite3_column_int64(row, COLUMN_KEY);
	uint64_t begin = key_time(key) * HOUR_MINUTES;
	struct cell_sum sums[HOUR_MINUTES];
	uint32_t counts[HOUR_MINUTES];
	size_t first = 0;
	int err = minutes_unpack(r, sqlite3_column_blob(row, COLUMN_MINUTES),
				 (size_t)sqlite3_column_bytes(row, COLUMN_MINUTES), sums);

	for (int i = 0; i < HOUR_MINUTES; i++)
		counts[i] = err ? 0 : sums[i].cells;
	if (!err && s->paths)
		err = cells_unpack(r, sqlite3_column_blob(row, COLUMN_DATA),
				   (size_t)sqlite3_column_bytes(row, COLUMN_DATA), counts,
				   HOUR_MINUTES, s->reader->view.paths, false);
	err = unpacked(s, err);
	for (uint32_t i = 0; !err && i < HOUR_MINUTES; first += counts[i++]) {
		struct sums_row out = {
			.series = key_series(key), .minute = begin + i, .sum = sums[i]};

		if (out.minute < s->asked->first || out.minute >= s->asked->end || !sums[i].samples)
			continue;
		if (s->paths)
			out.count = counts[i];
		err = pass_on(s, &out, s->paths ? r->path.at + first : NULL,
			      s->paths ? r->value.at + first : NULL);
	}
	return err;
}

/* All rows of a statement with keys of that series and [from, to). */
static int walk(struct scan *s, sqlite3_stmt *rows, uint32_t series, uint64_t from, uint64_t to,
		bool is_hour, bool by_minute)
{
	int err = asked_still(s->asked, s->why), rc;

	if (err)
		return err;
	if (from >= to)
		return 0;
	sqlite3_bind_int64(rows, 1, index_key(s->asked->event, series, from));
	sqlite3_bind_int64(rows, 2, index_key(s->asked->event, series, to - 1));
	while (!err && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		uint64_t time = key_time(sqlite3_column_int64(rows, COLUMN_KEY));

		if (by_minute)
			err = emit_minutes(s, rows);
		else
			err = emit_row(s, rows, is_hour ? time * HOUR_MINUTES : time);
	}
	sqlite3_reset(rows);
	if (err)
		return err;
	return rc == SQLITE_DONE ? 0 : index_failed(s->asked->index, s->reader->db, rc, s->why);
}

/* Hours of one series, as far as its service does not stand for it. */
static int walk_hours(struct scan *s, uint32_t series)
{
	int err = 0;

	for (uint64_t hour = s->first, to; !err && hour < s->end; hour = to + 1) {
		for (to = hour; to < s->end && !(s->covered && s->covered[to - s->first]); to++)
			;
		err = walk(s, s->hours, series, hour, to, true, s->minutely);
	}
	return err;
}

/* The hours of a service that were added up over its series. */
static int walk_service(struct scan *s, uint32_t group)
{
	int err = 0, rc;

	sqlite3_bind_int64(s->services, 1, index_key(s->asked->event, group, s->first));
	sqlite3_bind_int64(s->services, 2, index_key(s->asked->event, group, s->end - 1));
	while (!err && (rc = sqlite3_step(s->services)) == SQLITE_ROW) {
		uint64_t hour = key_time(sqlite3_column_int64(s->services, COLUMN_KEY));

		s->covered[hour - s->first] = 1;
		err = s->minutely ? emit_minutes(s, s->services)
				  : emit_row(s, s->services, hour * HOUR_MINUTES);
	}
	sqlite3_reset(s->services);
	if (err)
		return err;
	return rc == SQLITE_DONE ? 0 : index_failed(s->asked->index, s->reader->db, rc, s->why);
}

/* The hours at both ends of which only a part is meant. */
static int walk_parts(struct scan *s, uint32_t series)
{
	uint64_t first = s->asked->first / HOUR_MINUTES;
	uint64_t last = (s->asked->end - 1) / HOUR_MINUTES;
	int err = 0;

	if (first < s->first || s->first >= s->end)
		err = walk(s, s->part, series, first, first + 1, true, true);
	if (!err && last != first && (last >= s->end || s->first >= s->end))
		err = walk(s, s->part, series, last, last + 1, true, true);
	return err;
}

static int by_group(const void *x, const void *y, void *context)
{
	const struct dictionary *d = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint32_t group_a = dictionary_series_at(d, a)->group;
	uint32_t group_b = dictionary_series_at(d, b)->group;

	if (group_a != group_b)
		return group_a < group_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int walk_all(struct scan *s)
{
	const struct asked *a = s->asked;
	const struct dictionary *d = &a->index->dictionary;
	uint32_t group = 0;
	int err = 0;

	for (size_t i = 0; !err && i < s->reader->series.count; i++) {
		uint32_t series = s->reader->series.at[i],
			 of = dictionary_series_at(d, series)->group;

		if (s->covered && of != group && s->first < s->end) {
			for (uint64_t hour = s->first; hour < s->end; hour++)
				s->covered[hour - s->first] = 0;
			err = walk_service(s, of);
		}
		group = of;
		if (!err)
			err = walk_hours(s, series);
		if (!err)
			err = walk_parts(s, series);
		if (!err)
			err = walk(s, s->minutes, series, a->first, a->end, false, false);
	}
	return err;
}

/* Statements over a table of hours, with or without what is packed. */
static int open_hours(struct scan *s, sqlite3_stmt **rows, const char *table)
{
	const char *data = s->paths && s->minutely
				   ? "(SELECT data FROM hour_minutes WHERE key = h.key)"
			   : s->paths ? "data"
				      : "0";
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT key, samples, total, truncated, guessed, n, %s, %s FROM %s AS h"
		 " WHERE key BETWEEN ? AND ? ORDER BY key",
		 data, s->minutely ? "minutes" : "0", table);
	return sql_open(s->reader->db, rows, sql, "");
}

static int open_statements(struct scan *s)
{
	int rc = open_hours(s, &s->hours, "hour");

	if (rc == SQLITE_OK && s->covered)
		rc = open_hours(s, &s->services, "service_hour");
	if (rc == SQLITE_OK)
		rc = sql_open(s->reader->db, &s->part,
			      s->paths ? "SELECT key, samples, total, truncated, guessed, n,"
					 " hour_minutes.data, minutes FROM hour JOIN hour_minutes"
					 " USING(key) WHERE key BETWEEN ? AND ?"
				       : "SELECT key, samples, total, truncated, guessed, n, 0,"
					 " minutes FROM hour WHERE key BETWEEN ? AND ?",
			      "");
	if (rc == SQLITE_OK)
		rc = sql_open(s->reader->db, &s->minutes,
			      s->paths ? "SELECT key, samples, total, truncated, guessed, n, data"
					 " FROM minute WHERE key BETWEEN ? AND ?"
				       : "SELECT key, samples, total, truncated, guessed, n"
					 " FROM minute WHERE key BETWEEN ? AND ?",
			      "");
	return rc == SQLITE_OK ? 0 : index_failed(s->asked->index, s->reader->db, rc, s->why);
}

/*
 * A client that asks for all time gets the hours of which there are films.
 */
static int cut_time(struct scan *s)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(s->reader->db, &row, "SELECT min(first), max(last) FROM film", "");

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		uint64_t first = (uint64_t)sqlite3_column_int64(row, 0) / NS_HOUR;
		uint64_t end = (uint64_t)sqlite3_column_int64(row, 1) / NS_HOUR + 1;

		s->first = first > s->first ? first : s->first;
		s->end = end < s->end ? end : s->end;
	}
	sqlite3_finalize(row);
	return rc == SQLITE_ROW ? 0 : index_failed(s->asked->index, s->reader->db, rc, s->why);
}

int index_scan(const struct asked *asked, struct sums_view *view, enum sums_what what,
	       int (*row)(void *context, const struct sums_row *row), void *context,
	       struct fail *why)
{
	struct index_reader *reader = index_view(view);
	struct scan s = {
		.asked = asked,
		.reader = reader,
		.paths = what == SUMS_PATHS || what == SUMS_MINUTE_PATHS,
		.minutely = what == SUMS_MINUTES || what == SUMS_MINUTE_PATHS,
		.emit = row,
		.context = context,
		.why = why,
		.first = (asked->first + HOUR_MINUTES - 1) / HOUR_MINUTES,
		.end = asked->end / HOUR_MINUTES,
	};
	int err = 0;

	if (!asked->event || asked->first >= asked->end || !reader->series.count)
		return 0;
	if (s.first < s.end && s.end - s.first > LONG_TIME)
		err = cut_time(&s);
	if (err)
		return err;
	/* the minutes of a service have no paths of their own */
	if (asked->one_service && !(s.paths && s.minutely) && s.first < s.end) {
		s.covered = calloc(s.end - s.first, 1);
		if (!s.covered)
			return fail_errno(why, -ENOMEM, NULL, "cannot ask the store");
		qsort_r(reader->series.at, reader->series.count, sizeof(*reader->series.at),
			by_group, &asked->index->dictionary);
	}
	err = open_statements(&s);
	if (!err)
		err = walk_all(&s);
	sqlite3_finalize(s.hours);
	sqlite3_finalize(s.services);
	sqlite3_finalize(s.part);
	sqlite3_finalize(s.minutes);
	free(s.covered);
	return err;
}
