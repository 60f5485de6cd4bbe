// SPDX-License-Identifier: Apache-2.0
/* Which films the bucket has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/index_private.h"

const char index_bucket_table[] =
	"CREATE TABLE IF NOT EXISTS in_bucket(name PRIMARY KEY, bytes, sha256, mtime)"
	" WITHOUT ROWID";

int index_bucket_set(struct index *index, const char *name, const struct index_object *of,
		     struct fail *why)
{
	int err = index_begin(index, why), rc;

	if (err)
		return err;
	rc = sql_run(index->db, "INSERT OR REPLACE INTO in_bucket VALUES(?, ?, ?, ?)", "titi", name,
		     (int64_t)of->object.bytes, of->object.sha256, (int64_t)of->mtime);
	return index_end(index, rc == SQLITE_OK ? 0 : index_failed(index, index->db, rc, why), why);
}

int index_bucket_drop(struct index *index, const char *name)
{
	return sql_run(index->db, "DELETE FROM in_bucket WHERE name = ?", "t", name);
}

static void read_object(sqlite3_stmt *row, struct index_object *of)
{
	const char *sha256 = (const char *)sqlite3_column_text(row, 1);

	of->object.bytes = (uint64_t)sqlite3_column_int64(row, 0);
	snprintf(of->object.sha256, sizeof(of->object.sha256), "%s", sha256 ? sha256 : "");
	of->mtime = (uint64_t)sqlite3_column_int64(row, 2);
}

int index_bucket_find(struct index *index, const char *name, struct index_object *of,
		      struct fail *why)
{
	struct index_reader *reader;
	sqlite3_stmt *row = NULL;
	int err = index_reader_get(index, &reader, why), rc;

	if (err)
		return err;
	rc = sql_open(reader->db, &row, "SELECT bytes, sha256, mtime FROM in_bucket WHERE name = ?",
		      "t", name);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		read_object(row, of);
	else if (rc == SQLITE_DONE)
		err = -ENOENT;
	else
		err = index_failed(index, reader->db, rc, why);
	sqlite3_finalize(row);
	index_reader_put(index, reader);
	return err;
}

int index_bucket_each(struct index *index, uint64_t before,
		      int (*each)(void *context, const char *name, const struct index_object *of),
		      void *context, struct fail *why)
{
	struct index_reader *reader;
	sqlite3_stmt *row = NULL;
	int err = index_reader_get(index, &reader, why), ended = 0, rc;

	if (err)
		return err;
	rc = sql_open(reader->db, &row,
		      "SELECT bytes, sha256, mtime, name FROM in_bucket JOIN film USING(name)"
		      " WHERE last < ?",
		      "i", before > INT64_MAX ? INT64_MAX : (int64_t)before);
	while (rc == SQLITE_OK && !ended && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(row, 3);
		struct index_object of;

		read_object(row, &of);
		ended = each(context, name ? name : "", &of);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		err = index_failed(index, reader->db, rc, why);
	sqlite3_finalize(row);
	index_reader_put(index, reader);
	return err ? err : ended;
}

void index_bucket_count(struct index_reader *reader, struct index_status *status)
{
	sqlite3_stmt *row = NULL;

	if (sql_open(reader->db, &row, "SELECT count(*), sum(bytes) FROM in_bucket", "") ==
		    SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW) {
		status->bucket_films = (uint64_t)sqlite3_column_int64(row, 0);
		status->bucket_bytes = (uint64_t)sqlite3_column_int64(row, 1);
	}
	sqlite3_finalize(row);
}
