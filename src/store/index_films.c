// SPDX-License-Identifier: Apache-2.0
/* Which films are in the index, how far, and what is known of who sent them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/database.h"
#include "base/saturated.h"
#include "film/loss_kinds.h"
#include "store/index_series.h"

/* A film that says to be longer is wrong about it. */
#define HOURS_MAX 10000

/* ns since 1970; before that 0 */
static uint64_t wall_of(const struct film *film, uint64_t time)
{
	__int128 wall = (__int128)time + film->info.wall_offset;

	return wall < 0 ? 0 : wall > INT64_MAX ? INT64_MAX : (uint64_t)wall;
}

int index_film_find(struct index *index, const char *name, int64_t *id, uint64_t *blocks,
		    struct fail *why)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(index->db, &row, "SELECT id, blocks FROM film WHERE name = ?", "t", name);

	*id = 0;
	*blocks = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		*id = sqlite3_column_int64(row, 0);
		*blocks = (uint64_t)sqlite3_column_int64(row, 1);
	}
	sqlite3_finalize(row);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : index_failed(index, index->db, rc, why);
}

uint64_t index_blocks_of(const struct index_film *of, const struct film *film)
{
	return of->is_growing ? film_settled_count(film) : film_block_count(film);
}

/* Which events a film has, as the table film has them. Those beyond the limit are not known. */
static void events_of(struct index *index, const struct film *film,
		      char to[INDEX_EVENTS_MAX * 4 + 2])
{
	size_t used = (size_t)sprintf(to, ",");
	uint8_t seen[INDEX_EVENTS_MAX + 1] = {0};

	for (uint32_t i = 1; i < film->event_count; i++) {
		int err = 0;
		uint32_t event = index_event(index, film, i, &err);

		/* several of a film's may have one name */
		if (!err && event && !seen[event])
			used += (size_t)sprintf(to + used, "%u,", event);
		seen[event] = 1;
	}
}

static int put_film(struct index *index, const char *name, const char *host,
		    const struct film *film, uint64_t blocks, int64_t *id)
{
	uint64_t first = wall_of(film, film->info.start), last = wall_of(film, film->info.end);
	char events[INDEX_EVENTS_MAX * 4 + 2];
	int rc;

	events_of(index, film, events);
	if (*id)
		return sql_run(index->db,
			       "UPDATE film SET host = ?, first = ?, last = ?, blocks = ?,"
			       " events = ? WHERE id = ?",
			       "tiiiti", host, (int64_t)first, (int64_t)last, (int64_t)blocks,
			       events, *id);
	rc = sql_run(index->db, "INSERT INTO film VALUES(NULL, ?, ?, ?, ?, ?, ?)", "ttiiit", name,
		     host, (int64_t)first, (int64_t)last, (int64_t)blocks, events);
	*id = sqlite3_last_insert_rowid(index->db);
	return rc;
}

/*
 * The film's losses of one event, whole samples or what is less, or of event 0 all that are
 * bound to none.
 */
static uint64_t lost_of(const struct film *film, uint32_t event, bool samples)
{
	uint64_t count = 0;

	for (size_t i = 0; i < film->loss_count; i++) {
		const struct film_loss *loss = &film->losses[i];

		if (loss->event == event &&
		    (!event || samples == (film_loss_kind(loss->reason) == FILM_LOSS_SAMPLE)))
			count = add_saturated(count, loss->count);
	}
	return count;
}

/* The count of a film and event that was known before; SQLite's code. */
static int known_loss(struct index *index, int64_t id, uint32_t event, uint64_t *count)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(index->db, &row,
			  "SELECT count FROM film_lost WHERE film = ? AND event = ?", "ii", id,
			  (int64_t)event);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	*count = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(row, 0) : 0;
	sqlite3_finalize(row);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Until when the index has a film's losses: its end when it was there before, or its begin. */
static int known_until(struct index *index, const struct film *film, int64_t id, uint64_t *until)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(index->db, &row, "SELECT last FROM film WHERE id = ?", "i", id);

	*until = wall_of(film, film->info.start);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		*until = (uint64_t)sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int count_loss(struct index *index, const char *host, uint32_t event, const char *table,
		      uint64_t time, uint64_t count)
{
	char words[160];

	snprintf(words, sizeof(words),
		 "INSERT INTO %s VALUES(?, ?, ?, ?)"
		 " ON CONFLICT DO UPDATE SET count = count + excluded.count",
		 table);
	return sql_run(index->db, words, "tiii", host, (int64_t)event, (int64_t)time,
		       (int64_t)count);
}

/* Losses of a film that are counted, and when. */
struct lossy {
	struct index *index;
	const char *host;
	int64_t id;	  /* of the film */
	bool is_counted;  /* they are of no other film */
	uint64_t end;	  /* when they were seen, ns since 1970 */
	bool is_minutely; /* no more than a minute has passed since they were seen before */
};

/* event: of the index, or more (INDEX_LOST_PARTS). SQLite's code. */
static int put_loss(const struct lossy *l, uint32_t event, uint64_t count)
{
	uint64_t before;
	int rc = known_loss(l->index, l->id, event, &before);

	if (rc != SQLITE_OK || count <= before)
		return rc;
	rc = sql_run(l->index->db, "INSERT OR REPLACE INTO film_lost VALUES(?, ?, ?)", "iii", l->id,
		     (int64_t)event, (int64_t)count);
	if (rc == SQLITE_OK && l->is_counted)
		rc = count_loss(l->index, l->host, event, "lost", l->end / NS_HOUR, count - before);
	if (rc == SQLITE_OK && l->is_counted && l->is_minutely)
		rc = count_loss(l->index, l->host, event, "lost_minute", l->end / NS_MINUTE,
				count - before);
	return rc;
}

/*
 * Films have totals since their start: what is new is counted in the hour in which it was seen, if
 * counted is set; and in the minute, where no more time than that has passed since `since`.
 */
static int put_losses(struct index *index, const char *host, const struct film *film, int64_t id,
		      bool counted, uint64_t since)
{
	uint64_t end = wall_of(film, film->info.end);
	const struct lossy l = {index, host, id, counted, end, end - since <= NS_MINUTE};
	int rc = put_loss(&l, 0, lost_of(film, 0, false));

	for (uint32_t i = 1; rc == SQLITE_OK && i < film->event_count; i++) {
		int err = 0;
		uint32_t event = index_event(index, film, i, &err);

		if (err || !event)
			continue;
		rc = put_loss(&l, event, lost_of(film, i, true));
		if (rc == SQLITE_OK)
			rc = put_loss(&l, event + INDEX_LOST_PARTS, lost_of(film, i, false));
	}
	return rc;
}

int index_film_set(struct index *index, const struct index_film *of, const struct film *film,
		   int64_t id, struct fail *why)
{
	uint64_t since;
	int rc = known_until(index, film, id, &since);

	if (rc == SQLITE_OK)
		rc = put_film(index, of->name, of->host, film, index_blocks_of(of, film), &id);
	if (rc == SQLITE_OK)
		rc = put_losses(index, of->host, film, id, true, since);
	if (rc == SQLITE_OK && of->sender && of->sender->number)
		rc = sql_run(index->db,
			     "INSERT INTO sender VALUES(?, ?, ?) ON CONFLICT DO UPDATE"
			     " SET number = excluded.number, host = excluded.host"
			     " WHERE excluded.number > number",
			     "tit", of->sender->agent, (int64_t)of->sender->number,
			     of->sender->host);
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

int index_sender(struct index *index, const char *agent, uint64_t *number, struct fail *why)
{
	struct index_reader *reader;
	sqlite3_stmt *row = NULL;
	int err = index_reader_get(index, &reader, why), rc;

	*number = 0;
	if (err)
		return err;
	rc = sql_open(reader->db, &row, "SELECT number FROM sender WHERE agent = ?", "t", agent);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		*number = (uint64_t)sqlite3_column_int64(row, 0);
	else if (rc != SQLITE_DONE)
		err = index_failed(index, reader->db, rc, why);
	sqlite3_finalize(row);
	index_reader_put(index, reader);
	return err;
}

static int drop_film(struct index *index, const char *name)
{
	int rc = sql_run(index->db,
			 "DELETE FROM film_lost WHERE film = (SELECT id FROM film WHERE name = ?)",
			 "t", name);

	if (rc == SQLITE_OK)
		rc = index_bucket_drop(index, name);
	return rc == SQLITE_OK ? sql_run(index->db, "DELETE FROM film WHERE name = ?", "t", name)
			       : rc;
}

/* Whether some film of the host has a part in that hour; on failure SQLite's code in *rc. */
static bool is_covered(struct index *index, const char *host, uint64_t hour, int *rc)
{
	sqlite3_stmt *row = NULL;
	bool covered;

	*rc = sql_open(index->db, &row,
		       "SELECT 1 FROM film WHERE host = ? AND last >= ? AND first < ? LIMIT 1",
		       "tii", host, (int64_t)(hour * NS_HOUR), (int64_t)((hour + 1) * NS_HOUR));
	if (*rc == SQLITE_OK)
		*rc = sqlite3_step(row);
	covered = *rc == SQLITE_ROW;
	if (*rc == SQLITE_ROW || *rc == SQLITE_DONE)
		*rc = SQLITE_OK;
	sqlite3_finalize(row);
	return covered;
}

/*
 * What the index knows of a film: SQLITE_ROW with its host, to be freed, and its time; SQLITE_DONE;
 * or an error.
 */
static int look_up(struct index *index, const char *name, char **host, uint64_t *first,
		   uint64_t *last)
{
	sqlite3_stmt *row = NULL;
	int rc = sql_open(index->db, &row, "SELECT host, first, last FROM film WHERE name = ?", "t",
			  name);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(row, 0);

		*host = strdup(text ? text : "");
		*first = (uint64_t)sqlite3_column_int64(row, 1);
		*last = (uint64_t)sqlite3_column_int64(row, 2);
		if (!*host)
			rc = SQLITE_NOMEM;
	}
	sqlite3_finalize(row);
	return rc;
}

/* gap: of a damaged film; null: it is gone. */
static int forget(struct index *index, const char *name, const struct index_gap *gap,
		  struct fail *why)
{
	uint64_t first = 0, last = 0;
	char *host = NULL;
	int rc = name ? look_up(index, name, &host, &first, &last) : SQLITE_DONE, err = 0;
	bool known = rc == SQLITE_ROW;

	if (known)
		rc = drop_film(index, name);
	else if (rc == SQLITE_DONE)
		rc = SQLITE_OK;
	if (gap && rc == SQLITE_OK)
		rc = sql_run(index->db, "INSERT OR IGNORE INTO gap VALUES(?, ?, ?, ?)", "tiit",
			     known ? host : gap->host, (int64_t)(known ? first : gap->from),
			     (int64_t)(known ? last : gap->to), gap->aside);
	for (uint64_t hour = first / NS_HOUR;
	     known && rc == SQLITE_OK && !err && hour <= last / NS_HOUR &&
	     hour - first / NS_HOUR < HOURS_MAX;
	     hour++)
		if (!is_covered(index, host, hour, &rc) && rc == SQLITE_OK)
			err = index_remove_hour(index, host, hour, why);
	free(host);
	if (err)
		return err;
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

int index_forget(struct index *index, const char *name, struct fail *why)
{
	int err = index_begin(index, why);

	return err ? err : index_end(index, forget(index, name, NULL, why), why);
}

int index_forget_damaged(struct index *index, const struct index_gap *gap, struct fail *why)
{
	int err = index_begin(index, why);

	return err ? err : index_end(index, forget(index, gap->name, gap, why), why);
}

static int drop_merge(struct index *index, const char *into)
{
	int rc = sql_run(index->db, "DELETE FROM merging WHERE name = ?", "t", into);

	return rc == SQLITE_OK
		       ? sql_run(index->db, "DELETE FROM merging_part WHERE name = ?", "t", into)
		       : rc;
}

int index_merge_begin(struct index *index, const struct index_film *into, uint64_t inode,
		      const char *const *parts, size_t count, struct fail *why)
{
	int err = index_begin(index, why), rc;

	if (err)
		return err;
	rc = drop_merge(index, into->name);
	if (rc == SQLITE_OK)
		rc = sql_run(index->db, "INSERT INTO merging VALUES(?, ?, ?)", "tti", into->name,
			     into->host, (int64_t)inode);
	for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
		rc = sql_run(index->db, "INSERT OR IGNORE INTO merging_part VALUES(?, ?)", "tt",
			     into->name, parts[i]);
	return index_end(index, rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why), why);
}

/*
 * The host of the film that a merge makes; to be freed. *rc: SQLite's code; SQLITE_DONE: no such
 * merge.
 */
static char *merge_host(struct index *index, const char *into, int *rc)
{
	sqlite3_stmt *row = NULL;
	char *host = NULL;

	*rc = sql_open(index->db, &row, "SELECT host FROM merging WHERE name = ?", "t", into);
	if (*rc == SQLITE_OK)
		*rc = sqlite3_step(row);
	if (*rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(row, 0);

		host = strdup(text ? text : "");
		*rc = host ? SQLITE_OK : SQLITE_NOMEM;
	}
	sqlite3_finalize(row);
	return host;
}

static int end_merge(struct index *index, const char *into, const struct film *film,
		     struct fail *why)
{
	int64_t id;
	uint64_t blocks;
	int rc, err = index_film_find(index, into, &id, &blocks, why);
	char *host = err ? NULL : merge_host(index, into, &rc);

	if (err)
		return err;
	if (!host)
		return rc == SQLITE_DONE
			       ? fail(why, -ENOENT, NULL, "no merge of %s was begun", into)
			       : index_failed(index, index->db, rc, why);
	rc = put_film(index, into, host, film, film_block_count(film), &id);
	/* what the parts lost was counted when they were added */
	if (rc == SQLITE_OK)
		rc = put_losses(index, host, film, id, false, 0);
	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "DELETE FROM film_lost WHERE film IN (SELECT id FROM film JOIN"
			     " merging_part ON part = film.name WHERE merging_part.name = ?)",
			     "t", into);
	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "DELETE FROM film WHERE name IN"
			     " (SELECT part FROM merging_part WHERE name = ?)",
			     "t", into);
	/* what the bucket has is not that film any more */
	if (rc == SQLITE_OK)
		rc = sql_run(index->db,
			     "DELETE FROM in_bucket WHERE name = ?1 OR name IN"
			     " (SELECT part FROM merging_part WHERE name = ?1)",
			     "t", into);
	if (rc == SQLITE_OK)
		rc = drop_merge(index, into);
	free(host);
	return rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why);
}

int index_merge_end(struct index *index, const char *into, struct film *film, struct fail *why)
{
	int err = index_begin(index, why);

	return err ? err : index_end(index, end_merge(index, into, film, why), why);
}

int index_merge_drop(struct index *index, const char *into, struct fail *why)
{
	int err = index_begin(index, why), rc;

	if (err)
		return err;
	rc = drop_merge(index, into);
	return index_end(index, rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why), why);
}

int index_each_merge(struct index *index,
		     int (*emit)(void *context, const char *into, uint64_t inode), void *context,
		     struct fail *why)
{
	struct index_reader *reader;
	sqlite3_stmt *row = NULL;
	int err = index_reader_get(index, &reader, why), taken = 0, rc;

	if (err)
		return err;
	rc = sql_open(reader->db, &row, "SELECT name, inode FROM merging ORDER BY name", "");
	while (rc == SQLITE_OK && !taken && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(row, 0);

		taken = emit(context, name ? name : "", (uint64_t)sqlite3_column_int64(row, 1));
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		err = index_failed(index, reader->db, rc, why);
	sqlite3_finalize(row);
	index_reader_put(index, reader);
	return err ? err : taken;
}

int index_each_film(struct index *index, int (*emit)(void *context, const struct index_known *film),
		    void *context, struct fail *why)
{
	struct index_reader *reader;
	sqlite3_stmt *row = NULL;
	int err = index_reader_get(index, &reader, why), taken = 0, rc;

	if (err)
		return err;
	rc = sql_open(reader->db, &row, "SELECT name, host, first, last FROM film ORDER BY name",
		      "");
	while (rc == SQLITE_OK && !taken && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		struct index_known film = {
			.name = (const char *)sqlite3_column_text(row, 0),
			.host = (const char *)sqlite3_column_text(row, 1),
			.first = (uint64_t)sqlite3_column_int64(row, 2),
			.last = (uint64_t)sqlite3_column_int64(row, 3),
		};

		if (film.name && film.host)
			taken = emit(context, &film);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		err = index_failed(index, reader->db, rc, why);
	sqlite3_finalize(row);
	index_reader_put(index, reader);
	return err ? err : taken;
}

void index_status(struct index *index, struct index_status *status)
{
	const struct dictionary *d = &index->dictionary;
	struct index_reader *reader;
	sqlite3_stmt *row = NULL;

	*status = (struct index_status){
		.series = dictionary_readable(&d->series) - 1,
		.functions = dictionary_readable(&d->functions) - 1,
		.paths = dictionary_readable(&d->paths) - 1,
		.others = index->others,
		.bytes = index->in_memory ? 0 : database_bytes(index->path),
		.is_damaged = index->is_damaged,
	};
	if (index_reader_get(index, &reader, NULL))
		return;
	if (sql_open(reader->db, &row,
		     "SELECT count(*), count(DISTINCT host), min(first), max(last) FROM film",
		     "") == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW) {
		status->films = (uint64_t)sqlite3_column_int64(row, 0);
		status->hosts = (uint64_t)sqlite3_column_int64(row, 1);
		status->first = (uint64_t)sqlite3_column_int64(row, 2);
		status->last = (uint64_t)sqlite3_column_int64(row, 3);
	}
	sqlite3_finalize(row);
	index_bucket_count(reader, status);
	index_reader_put(index, reader);
}
