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

/*
 * Creates a film with its tables, all empty. What is there must be a film or empty, and goes.
 * *is_new: the file was made here; an empty one that was there before was used otherwise.
 */
int film_create_file(const char *path, char **absolute, int *fd, bool *is_new, struct fail *why);

/* The tables of a film in a database that has none. Returns SQLite's code. */
int film_create_tables(sqlite3 *db);

/* Opens a film that is there, to write to it. */
int film_lock_file(const char *path, char **absolute, int *fd, struct fail *why);

#endif
