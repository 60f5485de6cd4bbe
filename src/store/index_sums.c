// SPDX-License-Identifier: Apache-2.0
/* The index of the folder as sums that answer: the verbs, and what it knows beside the sums. */
#include <errno.h>

#include "base/saturated.h"
#include "store/ask_private.h"

static int open_view(const struct asked *asked, struct sums_view **view, struct fail *why)
{
	struct index_reader *reader;
	int err = index_reader_get(asked->index, &reader, why);

	if (err)
		return err;
	reader->view.verbs = &index_sums;
	reader->view.dictionary = &asked->index->dictionary;
	*view = &reader->view;
	return 0;
}

/* The series that are meant: rows are read as they are passed on. */
static int select_series(struct asked *a, struct sums_view *view, enum sums_what what,
			 struct fail *why)
{
	struct index_reader *reader = index_view(view);
	uint32_t count = dictionary_readable(&view->dictionary->series);

	(void)what;
	reader->series.count = 0;
	for (uint32_t i = 1; i < count; i++)
		if (asked_series(a->ask, dictionary_series_at(view->dictionary, i)) &&
		    !vec_push(&reader->series, i))
			return fail_errno(why, -ENOMEM, NULL, "cannot ask the store");
	return 0;
}

static void add_filmed(void *context, const char *host, uint64_t first, uint64_t last)
{
	(void)host;
	filmed_add(context, first, last);
}

/* The time of the samples that the index has, and of no others. */
static int sum_filmed(const struct asked *a, struct index_reader *reader, struct store_sum *sum)
{
	struct filmed filmed = {.until = sum->from, .end = sum->to, .steps = a->steps};
	const struct index_filmed_ask ask = {a->ask->host, a->event, sum->from, sum->to};
	int rc = index_filmed_each(reader, &ask, add_filmed, &filmed);

	sum->filmed = filmed.sum;
	return rc;
}

/*
 * Of the hours at both ends those losses count whose minute is in the time, and those whose minute
 * is not known.
 */
static int sum_lost(const struct asked *a, struct index_reader *reader, struct store_sum *sum)
{
	sqlite3_stmt *row = NULL;
	int64_t first = (int64_t)(a->from / NS_HOUR);
	int64_t last = (int64_t)(a->to ? (a->to - 1) / NS_HOUR : 0);
	int rc = sql_open(
		reader->db, &row,
		"SELECT event, sum(count) FROM"
		" (SELECT event, count FROM lost WHERE event IN (0, ?1, ?7)"
		" AND hour BETWEEN ?2 AND ?3 AND (?6 = '' OR host = ?6)"
		" UNION ALL SELECT event, -count FROM lost_minute WHERE event IN (0, ?1, ?7)"
		" AND minute BETWEEN ?2 * 60 AND ?3 * 60 + 59"
		" AND minute NOT BETWEEN ?4 AND ?5 AND (?6 = '' OR host = ?6))"
		" GROUP BY event",
		"iiiiiti", (int64_t)a->event, first, last, (int64_t)a->first, (int64_t)a->end - 1,
		a->ask->host ? a->ask->host : "", (int64_t)a->event + INDEX_LOST_PARTS);

	while (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		int64_t count = sqlite3_column_int64(row, 1);

		rc = SQLITE_OK;
		if (count <= 0)
			continue;
		sum->lost = add_saturated(sum->lost, (uint64_t)count);
		if (a->event && sqlite3_column_int64(row, 0) == a->event)
			sum->lost_samples = (uint64_t)count;
	}
	sqlite3_finalize(row);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int about(const struct asked *a, struct sums_view *view, struct store_sum *sum,
		 struct fail *why)
{
	struct index_reader *reader = index_view(view);
	const char *host = a->ask->host ? a->ask->host : "";
	sqlite3_stmt *row = NULL;
	int rc = sql_open(reader->db, &row,
			  "SELECT count(*) FROM gap WHERE last >= ?1 AND first < ?2"
			  " AND (?3 = '' OR host = ?3)",
			  "iit", (int64_t)a->from, (int64_t)a->to, host);

	sum->from = sum->complete_from = a->first * NS_MINUTE;
	sum->to = a->end * NS_MINUTE;
	sum->complete_until = a->complete_until < sum->to ? a->complete_until : sum->to;
	sum->unit = a->unit;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		sum->films_damaged = (uint32_t)sqlite3_column_int64(row, 0) +
				     store_count_later(a->store, a->ask->host, a->from, a->to);
	}
	sqlite3_finalize(row);
	if (rc == SQLITE_ROW)
		rc = sum_lost(a, reader, sum);
	if (rc == SQLITE_OK)
		rc = sum_filmed(a, reader, sum);
	return rc == SQLITE_OK ? 0 : index_failed(a->index, reader->db, rc, why);
}

int index_lost_each(struct index_reader *reader, uint32_t event, uint64_t hour,
		    void (*each)(void *context, const struct index_lost *lost), void *context)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(reader->db, &row,
			  "SELECT host, event, count FROM lost"
			  " WHERE hour = ?1 AND event IN (0, ?2, ?3) AND count > 0",
			  "iii", (int64_t)hour, (int64_t)event, (int64_t)event + INDEX_LOST_PARTS);

	while (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *host = (const char *)sqlite3_column_text(row, 0);
		int64_t of = sqlite3_column_int64(row, 1);

		each(context, &(struct index_lost){host ? host : "", of != 0, of > INDEX_LOST_PARTS,
						   (uint64_t)sqlite3_column_int64(row, 2)});
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Of films without the event nothing is to be read, or to be missing. */
static int each_film(const struct asked *a, struct sums_view *view,
		     int (*film)(void *context, const struct sums_film *film), void *context,
		     struct fail *why)
{
	sqlite3 *db = index_view(view)->db;
	sqlite3_stmt *row = NULL;
	int err = 0;
	int rc = sql_open(db, &row,
			  "SELECT name, host, first, last FROM film"
			  " WHERE last >= ?1 AND first < ?2 AND (?3 = '' OR host = ?3)"
			  " AND instr(events, ',' || ?4 || ',') ORDER BY first, name",
			  "iiti", (int64_t)a->from, (int64_t)a->to,
			  a->ask->host ? a->ask->host : "", (int64_t)a->event);

	while (!err && rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(row, 0);
		const char *host = (const char *)sqlite3_column_text(row, 1);

		err = film(context, &(struct sums_film){name ? name : "", host ? host : "",
							(uint64_t)sqlite3_column_int64(row, 2),
							(uint64_t)sqlite3_column_int64(row, 3)});
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	if (err || rc == SQLITE_DONE)
		return err;
	return index_failed(a->index, db, rc, why);
}

static void close_view(const struct asked *asked, struct sums_view *view,
		       struct store_answer_private *keep)
{
	if (keep && !keep->index)
		keep->index = index_share(asked->index);
	index_reader_put(asked->index, index_view(view));
}

const struct sums_verbs index_sums = {
	.open = open_view,
	.select = select_series,
	.about = about,
	.each = index_scan,
	.films = each_film,
	.close = close_view,
};
