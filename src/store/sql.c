// SPDX-License-Identifier: Apache-2.0
#include "store/sql.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "film/schema.h"

static int bind_all(sqlite3_stmt *statement, const char *types, va_list values)
{
	int rc = SQLITE_OK;

	for (int i = 1; rc == SQLITE_OK && *types; i++, types++) {
		if (*types == 'i') {
			rc = sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
		} else if (*types == 't') {
			rc = sqlite3_bind_text(statement, i, va_arg(values, const char *), -1,
					       SQLITE_STATIC);
		} else {
			const void *blob = va_arg(values, const void *);
			size_t size = va_arg(values, size_t);

			/* a null pointer would be NULL, not an empty blob */
			rc = sqlite3_bind_blob64(statement, i, blob ? blob : "", size,
						 SQLITE_STATIC);
		}
	}
	return rc;
}

int sql_bind(sqlite3_stmt *statement, const char *types, ...)
{
	va_list values;
	int rc;

	va_start(values, types);
	rc = bind_all(statement, types, values);
	va_end(values);
	return rc;
}

int sql_open(sqlite3 *db, sqlite3_stmt **statement, const char *sql, const char *types, ...)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, statement, NULL);
	va_list values;

	va_start(values, types);
	if (rc == SQLITE_OK)
		rc = bind_all(*statement, types, values);
	va_end(values);
	return rc;
}

int sql_again(sqlite3_stmt *statement)
{
	int rc;

	do
		rc = sqlite3_step(statement);
	while (rc == SQLITE_ROW);
	sqlite3_reset(statement);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sql_run(sqlite3 *db, const char *sql, const char *types, ...)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	va_list values;

	va_start(values, types);
	if (rc == SQLITE_OK)
		rc = bind_all(statement, types, values);
	va_end(values);
	if (rc == SQLITE_OK)
		rc = sql_again(statement);
	sqlite3_finalize(statement);
	return rc;
}

int sql_make_tables(sqlite3 *db, int application_id, const char *tables)
{
	char words[128];
	int rc = film_sql_run(db, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
				  "BEGIN");

	if (rc == SQLITE_OK)
		rc = film_sql_run(db, tables);
	snprintf(words, sizeof(words),
		 "PRAGMA application_id = %d; PRAGMA user_version = 1; COMMIT", application_id);
	return rc == SQLITE_OK ? film_sql_run(db, words) : rc;
}
