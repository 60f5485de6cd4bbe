/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <sqlite3.h>

/*
 * SQL in one line. types says what follows: 'i' int64_t, 't' const char *, 'b' const void * and
 * size_t. Bound strings and blobs must live until the statement is reset or finalized. Return
 * SQLite's codes.
 */
int sql_bind(sqlite3_stmt *statement, const char *types, ...);
int sql_open(sqlite3 *db, sqlite3_stmt **statement, const char *sql, const char *types, ...);
/* Runs it to its end. */
int sql_run(sqlite3 *db, const char *sql, const char *types, ...);
/* Makes the tables of a new database, of version 1, that has a write-ahead log. */
int sql_make_tables(sqlite3 *db, int application_id, const char *tables);
/* Runs a bound statement to its end and resets it, for those that are used often. */
int sql_again(sqlite3_stmt *statement);

#endif
