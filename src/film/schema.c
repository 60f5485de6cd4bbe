// SPDX-License-Identifier: Apache-2.0
#include "film/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/film.h"

#define COPY_AGAIN "copy it again from where it was recorded, or record again"

const struct film_table film_tables[] = {
	{"meta", "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID", 1},
	{"event",
	 "CREATE TABLE event(id INTEGER PRIMARY KEY, name TEXT, unit TEXT, source TEXT, "
	 "frequency INTEGER)",
	 1},
	{"process",
	 "CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER, "
	 "started INTEGER, ended INTEGER, comm TEXT, command TEXT, exe TEXT, "
	 "cgroup TEXT, container TEXT)",
	 1, 2},
	{"process",
	 "CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER, "
	 "started INTEGER, ended INTEGER, comm TEXT, command TEXT, exe TEXT, "
	 "cgroup TEXT, container TEXT, user TEXT, resource TEXT)",
	 3},
	{"processes", "CREATE TABLE processes(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 2},
	{"threads", "CREATE TABLE threads(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 2},
	{"thread",
	 "CREATE TABLE thread(id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, "
	 "started INTEGER, comm TEXT)",
	 1},
	{"image",
	 "CREATE TABLE image(id INTEGER PRIMARY KEY, kind INTEGER, path TEXT, "
	 "build_id BLOB)",
	 1},
	{"file", "CREATE TABLE file(id INTEGER PRIMARY KEY, path TEXT)", 1},
	{"function", "CREATE TABLE function(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 1},
	{"frame", "CREATE TABLE frame(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 1},
	{"name", "CREATE TABLE name(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 1},
	{"start", "CREATE TABLE start(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 1},
	{"stack", "CREATE TABLE stack(id INTEGER PRIMARY KEY, n INTEGER, data BLOB)", 1},
	{"loss",
	 "CREATE TABLE loss(id INTEGER PRIMARY KEY, event INTEGER, reason TEXT, "
	 "count INTEGER)",
	 1},
	{"block",
	 "CREATE TABLE block(id INTEGER PRIMARY KEY, event INTEGER, kind INTEGER, "
	 "t0 INTEGER, t1 INTEGER, n INTEGER, total INTEGER, data BLOB)",
	 1},
};
const unsigned int film_table_count = sizeof(film_tables) / sizeof(film_tables[0]);

int film_sql_errno(sqlite3 *db, int rc)
{
	int saved = db ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return saved > 0 ? -saved : -EIO;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

int film_sql_run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int film_sql_number(sqlite3 *db, const char *sql, int64_t *number)
{
	sqlite3_stmt *query;
	int rc = sqlite3_prepare_v2(db, sql, -1, &query, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(query);
	if (rc == SQLITE_ROW) {
		*number = sqlite3_column_int64(query, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(query);
	return rc;
}

int film_sql_distrust(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	/* the longest value is a block: all its columns, not compressible */
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 128 * FILM_BLOCK_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 64);
	/* a mapped file that is cut short meanwhile would end the program with SIGBUS */
	return film_sql_run(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
}

int film_damaged(struct fail *why, const char *path, const char *what)
{
	return fail(why, -EBADMSG, COPY_AGAIN, "%s is damaged: %s", path, what);
}

int film_read_failed(sqlite3 *db, int rc, const char *path, struct fail *why)
{
	int err = film_sql_errno(db, rc);

	switch (rc & 0xff) {
	case SQLITE_NOTADB:
		return fail(why, err, NULL, "%s is not a film", path);
	case SQLITE_CORRUPT:
	case SQLITE_TOOBIG:
		return film_damaged(why, path, sqlite3_errmsg(db));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return fail(why, err, "try again in a moment",
			    "cannot read %s: another program is writing it", path);
	case SQLITE_ERROR:
		/* our own statements are right: the tables are not what they should be */
		return film_damaged(why, path, sqlite3_errmsg(db));
	default:
		return fail_errno(why, err, NULL, "cannot read %s", path);
	}
}

static bool is_in(const struct film_table *table, int version)
{
	return table->since <= version && (!table->until || version <= table->until);
}

static int check_table(sqlite3_stmt *row, int version, bool *seen, const char *path,
		       struct fail *why)
{
	const char *type = (const char *)sqlite3_column_text(row, 0);
	const char *name = (const char *)sqlite3_column_text(row, 1);
	const char *sql = (const char *)sqlite3_column_text(row, 2);
	unsigned int i;

	for (i = 0; type && name && sql && !strcmp(type, "table") && i < film_table_count; i++) {
		if (!seen[i] && is_in(&film_tables[i], version) &&
		    !strcmp(name, film_tables[i].name) && !strcmp(sql, film_tables[i].sql)) {
			seen[i] = true;
			return 0;
		}
	}
	return fail(why, -EBADMSG, COPY_AGAIN,
		    "%s is damaged, or was changed: no film has a %.20s \"%.60s\" like it", path,
		    type ? type : "table", name ? name : "");
}

static int check_tables(sqlite3 *db, int version, const char *path, struct fail *why)
{
	bool *seen = calloc(film_table_count, sizeof(*seen));
	sqlite3_stmt *rows = NULL;
	unsigned int i;
	int rc, err = 0;

	if (!seen)
		return fail_errno(why, -ENOMEM, NULL, "cannot read %s", path);
	rc = sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_schema", -1, &rows, NULL);
	if (rc == SQLITE_OK) {
		while (!err && (rc = sqlite3_step(rows)) == SQLITE_ROW)
			err = check_table(rows, version, seen, path, why);
	}
	if (!err && rc != SQLITE_DONE)
		err = film_read_failed(db, rc, path, why);
	for (i = 0; !err && i < film_table_count; i++) {
		if (!seen[i] && is_in(&film_tables[i], version))
			err = film_damaged(why, path, "a table of a film is missing");
	}
	sqlite3_finalize(rows);
	free(seen);
	return err;
}

int film_check_schema(sqlite3 *db, const char *path, int *of, struct fail *why)
{
	int64_t application, version;
	int rc = film_sql_number(db, "PRAGMA application_id", &application);

	if (rc == SQLITE_OK)
		rc = film_sql_number(db, "PRAGMA user_version", &version);
	if (rc != SQLITE_OK)
		return film_read_failed(db, rc, path, why);
	if (application != FILM_APPLICATION_ID)
		return fail(why, -EBADMSG, NULL,
			    "%s is not a film: it is an SQLite database of another program", path);
	if (version < 1 || version > FILM_SCHEMA_VERSION)
		return fail(why, -EPROTONOSUPPORT, "read it with the stackcam that recorded it",
			    "%s has version %lld of the film format: this stackcam reads those up "
			    "to %d",
			    path, (long long)version, FILM_SCHEMA_VERSION);
	*of = (int)version;
	return check_tables(db, *of, path, why);
}
