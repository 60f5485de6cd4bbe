/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_CREATE_H
#define FILM_CREATE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/fail.h"

/*
 * Both leave in *absolute the path (the caller frees it) and in *fd an open descriptor that holds
 * the lock by which a second recorder notices this one. Return 0 or a negative errno with *why
 * filled.
 */

/* What is behind the name of a film that another one has replaced. */
#define FILM_REPLACED ".old"

/*
 * Creates a film with its tables, all empty, as a new file of this user. What is there must be a
 * film, which gets another name, as perf does it (*replaces), or empty, which is removed.
 */
int film_create_file(const char *path, char **absolute, int *fd, bool *replaces, struct fail *why);

/* The film that was replaced has its name again; 0 or a negative errno. */
int film_put_back(const char *path);

/* The tables of a film in a database that has none. Returns SQLite's code. */
int film_create_tables(sqlite3 *db);

/* Opens a film that is there, to write to it. */
int film_lock_file(const char *path, char **absolute, int *fd, struct fail *why);

#endif
