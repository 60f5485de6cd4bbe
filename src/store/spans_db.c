// SPDX-License-Identifier: Apache-2.0
#include "store/spans_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/globs.h"
#include "film/schema.h"
#include "store/index_private.h"

#define APPLICATION_ID 0x5ca35a25

/* A span of a process is looked for by its start: longer ones may be missed before a time. */
#define LENGTH_MAX (3600ull * 1000000000)

struct spans_db {
	sqlite3 *db;
	char *path;
	uint64_t count;
};

static const char schema[] =
	"CREATE TABLE span(id INTEGER PRIMARY KEY, trace BLOB, span BLOB, parent BLOB,"
	" start INTEGER, end INTEGER, pid INTEGER, tid INTEGER, kind INTEGER, status INTEGER,"
	" host TEXT, service TEXT, name TEXT);"
	"CREATE UNIQUE INDEX span_of ON span(trace, span);"
	"CREATE INDEX span_start ON span(start);";

static int failed(const struct spans_db *db, int rc, struct fail *why)
{
	int err = film_sql_errno(db->db, rc);

	if ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_NOTADB)
		err = -EBADMSG;
	return fail_errno(why, err ? err : -EIO, NULL, "cannot use the spans %s", db->path);
}

/* 0 or a negative errno with *why filled. A new database has tables afterwards. */
static int check_tables(struct spans_db *db, bool is_reader, struct fail *why)
{
	int64_t id = 0, count = 0;
	int rc = film_sql_number(db->db, "PRAGMA application_id", &id);

	if (rc == SQLITE_OK && !id && !is_reader)
		rc = film_sql_number(db->db, "SELECT count(*) FROM sqlite_schema", &count);
	if (rc == SQLITE_OK && !id && !is_reader && !count) {
		rc = sql_make_tables(db->db, APPLICATION_ID, schema);
		id = APPLICATION_ID;
	}
	if (rc == SQLITE_OK && id != APPLICATION_ID)
		return fail(why, -EBADMSG, NULL, "%s does not hold spans", db->path);
	if (rc == SQLITE_OK)
		rc = film_sql_number(db->db, "SELECT count(*) FROM span", &count);
	db->count = (uint64_t)count;
	return rc == SQLITE_OK ? 0 : failed(db, rc, why);
}

int spans_db_open(const char *path, bool is_reader, struct spans_db **result, struct fail *why)
{
	int flags = is_reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct spans_db *db;
	int rc, err;

	if (is_reader && access(path, R_OK))
		return fail_errno(why, -errno, NULL, "cannot read the spans %s", path);
	db = calloc(1, sizeof(*db));
	if (!db || !(db->path = strdup(path))) {
		free(db);
		return fail_errno(why, -ENOMEM, NULL, "cannot use the spans %s", path);
	}
	rc = sqlite3_open_v2(path, &db->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = film_sql_distrust(db->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(db->db, FILM_PATIENCE_MS);
	/* what came in the last moment may be lost with the power; nothing is damaged by it */
	if (rc == SQLITE_OK && !is_reader)
		rc = film_sql_run(db->db, "PRAGMA synchronous = NORMAL");
	err = rc == SQLITE_OK ? check_tables(db, is_reader, why) : failed(db, rc, why);
	if (err)
		spans_db_free(db);
	else
		*result = db;
	return err;
}

void spans_db_free(struct spans_db *db)
{
	if (!db)
		return;
	sqlite3_close(db->db);
	free(db->path);
	free(db);
}

uint64_t spans_db_count(const struct spans_db *db)
{
	return db->count;
}

/* -- what comes and goes ----------------------------------------------------------------------- */

static int add_one(sqlite3_stmt *insert, const struct span *span)
{
	static const uint8_t none[SPAN_ID];
	size_t parent = memcmp(span->parent, none, SPAN_ID) ? SPAN_ID : 0;
	int rc = sql_bind(insert, "bbbiiiiiittt", span->trace, (size_t)SPAN_TRACE, span->id,
			  (size_t)SPAN_ID, span->parent, parent, (int64_t)span->start,
			  (int64_t)span->end, (int64_t)span->pid, (int64_t)span->tid,
			  (int64_t)span->kind, (int64_t)span->status, span->host, span->service,
			  span->name);

	return rc == SQLITE_OK ? sql_again(insert) : rc;
}

static int add_all(struct spans_db *db, const struct span *spans, size_t count,
		   struct spans_added *added)
{
	sqlite3_stmt *insert = NULL;
	int rc = sqlite3_prepare_v2(
		db->db,
		"INSERT OR IGNORE INTO span(trace, span, parent, start, end, pid, tid, kind,"
		" status, host, service, name) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		-1, &insert, NULL);

	for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
		rc = add_one(insert, &spans[i]);
		if (rc == SQLITE_OK && sqlite3_changes(db->db))
			added->kept++;
		else
			added->again += rc == SQLITE_OK;
	}
	sqlite3_finalize(insert);
	return rc;
}

/* Numbers of rows rise in the order in which spans come. */
static int make_room(struct spans_db *db, uint64_t count, struct spans_added *added)
{
	uint64_t most = SPANS_MAX - SPANS_MAX / 10;
	int rc;

	if (count <= SPANS_MAX)
		return SQLITE_OK;
	rc = sql_run(db->db,
		     "DELETE FROM span WHERE id IN (SELECT id FROM span ORDER BY id LIMIT ?)", "i",
		     (int64_t)(count - most));
	if (rc == SQLITE_OK)
		added->dropped = (uint64_t)sqlite3_changes(db->db);
	return rc;
}

int spans_db_add(struct spans_db *db, const struct span *spans, size_t count,
		 struct spans_added *added, struct fail *why)
{
	int rc = film_sql_run(db->db, "BEGIN IMMEDIATE");

	*added = (struct spans_added){0};
	if (rc != SQLITE_OK)
		return failed(db, rc, why);
	rc = add_all(db, spans, count, added);
	if (rc == SQLITE_OK)
		rc = make_room(db, db->count + added->kept, added);
	if (rc == SQLITE_OK)
		rc = film_sql_run(db->db, "COMMIT");
	if (rc == SQLITE_OK) {
		db->count += added->kept - added->dropped;
		return 0;
	}
	failed(db, rc, why);
	film_sql_run(db->db, "ROLLBACK");
	*added = (struct spans_added){0};
	return why->err;
}

int spans_db_remove(struct spans_db *db, uint64_t before, uint64_t *removed, struct fail *why)
{
	int rc = sql_run(db->db, "DELETE FROM span WHERE end < ? AND start < ?", "ii",
			 (int64_t)before, (int64_t)before);

	if (rc != SQLITE_OK)
		return failed(db, rc, why);
	*removed = (uint64_t)sqlite3_changes(db->db);
	db->count -= *removed;
	return 0;
}

/* -- what is asked ----------------------------------------------------------------------------- */

static void read_bytes(sqlite3_stmt *row, int column, uint8_t *to, size_t size)
{
	if ((size_t)sqlite3_column_bytes(row, column) == size)
		memcpy(to, sqlite3_column_blob(row, column), size);
}

static const char *read_text(struct spans_found *found, sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return name_pool_add(&found->names, text ? text : "");
}

static uint64_t read_number(sqlite3_stmt *row, int column)
{
	int64_t number = sqlite3_column_int64(row, column);

	return number > 0 ? (uint64_t)number : 0;
}

/* 0 or -ENOMEM. */
static int add_row(struct spans_found *found, sqlite3_stmt *row)
{
	struct span span = {
		.start = read_number(row, 3),
		.end = read_number(row, 4),
		.pid = (uint32_t)read_number(row, 5),
		.tid = (uint32_t)read_number(row, 6),
		.kind = (uint8_t)read_number(row, 7),
		.status = (uint8_t)read_number(row, 8),
		.host = read_text(found, row, 9),
		.service = read_text(found, row, 10),
		.name = read_text(found, row, 11),
	};

	if (!span.host || !span.service || !span.name)
		return -ENOMEM;
	if (span.end < span.start)
		span.end = span.start;
	read_bytes(row, 0, span.trace, SPAN_TRACE);
	read_bytes(row, 1, span.id, SPAN_ID);
	read_bytes(row, 2, span.parent, SPAN_ID);
	found->at[found->count++] = span;
	return 0;
}

#define COLUMNS                                                                               \
	"SELECT trace, span, parent, start, end, pid, tid, kind, status, host, service, name" \
	" FROM span WHERE "

static int open_rows(struct spans_db *db, const struct spans_wanted *w, sqlite3_stmt **rows)
{
	int64_t from = (int64_t)w->from, to = w->to > INT64_MAX ? INT64_MAX : (int64_t)w->to;
	int64_t first = w->from > LENGTH_MAX ? (int64_t)(w->from - LENGTH_MAX) : 0;
	int64_t limit = w->services ? -1 : (int64_t)w->limit + 1;
	const char *host = w->host ? w->host : "";
	char words[512 + 12 * SPANS_PIDS_MAX];
	size_t used;

	if (w->trace)
		return sql_open(db->db, rows,
				COLUMNS "trace = ? AND start < ? AND end >= ?"
					" ORDER BY start, end DESC, id LIMIT ?",
				"biii", w->trace, (size_t)SPAN_TRACE, to, from, limit);
	used = (size_t)snprintf(words, sizeof(words),
				COLUMNS "start >= ? AND start < ? AND end >= ?"
					" AND (? = '' OR host = '' OR host = ?)%s",
				w->pid_count ? " AND pid IN (" : "");
	for (size_t i = 0; i < w->pid_count && i < SPANS_PIDS_MAX; i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%u", i ? "," : "",
					 w->pids[i]);
	snprintf(words + used, sizeof(words) - used, "%s ORDER BY start, end DESC, id LIMIT ?",
		 w->pid_count ? ")" : "");
	return sql_open(db->db, rows, words, "iiitti", first, to, from, host, host, limit);
}

static bool is_wanted(const struct spans_wanted *wanted, sqlite3_stmt *row)
{
	const char *service = (const char *)sqlite3_column_text(row, 10);

	return !wanted->services || globs_match(wanted->services, service ? service : "");
}

int spans_db_find(struct spans_db *db, const struct spans_wanted *wanted, struct spans_found *found,
		  struct fail *why)
{
	sqlite3_stmt *rows = NULL;
	int rc = SQLITE_OK, err = 0;

	*found = (struct spans_found){0};
	found->at = calloc(wanted->limit + 1, sizeof(*found->at));
	if (!found->at)
		return fail_errno(why, -ENOMEM, NULL, "cannot read spans");
	rc = open_rows(db, wanted, &rows);
	while (rc == SQLITE_OK && !err && !found->is_cut) {
		int stepped = sqlite3_step(rows);

		if (stepped == SQLITE_DONE)
			break;
		if (stepped != SQLITE_ROW)
			rc = stepped;
		else if (!is_wanted(wanted, rows))
			continue;
		else if (found->count == wanted->limit)
			found->is_cut = true;
		else
			err = add_row(found, rows);
	}
	sqlite3_finalize(rows);
	if (err)
		return fail_errno(why, err, NULL, "cannot read spans");
	return rc == SQLITE_OK ? 0 : failed(db, rc, why);
}
