// SPDX-License-Identifier: Apache-2.0
/*
 * Of which time the sums are: spans by host and event, which are written with the sums and removed
 * with them. Films cannot say it: one may be removed while its sums stay, as those of its hour do,
 * or grow behind what was added.
 */

#include "store/index_private.h"

/* ns since 1970; before that 0 */
static int64_t wall_of(const struct film *film, uint64_t time)
{
	__int128 wall = (__int128)time + film->info.wall_offset;

	return wall < 0 ? 0 : wall > INT64_MAX ? INT64_MAX : (int64_t)wall;
}

/* Spans of a host and event touch no other: [first, last] takes in what it overlaps. */
static int widen(struct index *index, const char *host, uint32_t event, int64_t *first,
		 int64_t *last)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(index->db, &row,
			  "SELECT first, last FROM filmed WHERE host = ? AND event = ? AND"
			  " first <= ? ORDER BY first DESC",
			  "tii", host, (int64_t)event, *last);

	/* the last span that begins before it also ends after all before it */
	while (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		int64_t begin = sqlite3_column_int64(row, 0), end = sqlite3_column_int64(row, 1);

		if (end < *first) {
			rc = SQLITE_DONE;
			break;
		}
		*first = begin < *first ? begin : *first;
		*last = end > *last ? end : *last;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int put(struct index *index, const char *host, uint32_t event, int64_t first, int64_t last)
{
	return sql_run(index->db, "INSERT OR REPLACE INTO filmed VALUES(?, ?, ?, ?)", "tiii", host,
		       (int64_t)event, first, last);
}

static int add_span(struct index *index, const char *host, uint32_t event, int64_t first,
		    int64_t last)
{
	int rc = first < last ? widen(index, host, event, &first, &last) : SQLITE_DONE;

	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "DELETE FROM filmed WHERE host = ? AND event = ? AND first BETWEEN ?"
			     " AND ?",
			     "tiii", host, (int64_t)event, first, last);
	if (rc == SQLITE_OK)
		rc = put(index, host, event, first, last);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int index_filmed_add(struct index *index, const char *host, const struct film *film,
		     uint64_t blocks, struct fail *why)
{
	const int64_t first = wall_of(film, film->info.start);
	int rc = SQLITE_OK;

	for (uint32_t i = 1; rc == SQLITE_OK && i < film->event_count; i++) {
		int err = 0;
		uint32_t event = index_event(index, film, i, &err);

		if (!err && event && !index->events[event].is_calls)
			rc = add_span(index, host, event, first,
				      wall_of(film, film_event_until(film, i, blocks)));
	}
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

/* What of a span lies beside the hour stays. */
static int cut(struct index *index, const char *host, int64_t from, int64_t to)
{
	int rc = sql_run(index->db,
			 "INSERT OR REPLACE INTO filmed SELECT host, event, ?3, last FROM filmed"
			 " WHERE host = ?1 AND first < ?3 AND last > ?3",
			 "tii", host, from, to);

	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "DELETE FROM filmed WHERE host = ?1 AND first >= ?2 AND first < ?3",
			     "tii", host, from, to);
	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "UPDATE filmed SET last = ?2 WHERE host = ?1 AND first < ?2 AND"
			     " last > ?2",
			     "ti", host, from);
	return rc;
}

int index_filmed_remove_hour(struct index *index, const char *host, uint64_t hour)
{
	return cut(index, host, (int64_t)(hour * NS_HOUR), (int64_t)((hour + 1) * NS_HOUR));
}

int index_filmed_each(struct index_reader *reader, const struct index_filmed_ask *ask,
		      void (*emit)(void *context, const char *host, uint64_t first, uint64_t last),
		      void *context)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(reader->db, &row,
			  "SELECT host, first, last FROM filmed WHERE event = ?1 AND last > ?2 AND"
			  " first < ?3 AND (?4 = '' OR host = ?4) ORDER BY first",
			  "iiit", (int64_t)ask->event, (int64_t)ask->from, (int64_t)ask->to,
			  ask->host ? ask->host : "");

	while (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *host = (const char *)sqlite3_column_text(row, 0);

		emit(context, host ? host : "", (uint64_t)sqlite3_column_int64(row, 1),
		     (uint64_t)sqlite3_column_int64(row, 2));
		rc = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
