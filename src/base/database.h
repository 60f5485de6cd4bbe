/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DATABASE_H
#define BASE_DATABASE_H

#include <stdint.h>

/*
 * The files of an SQLite database: its own, and those beside it that have what is not in that yet.
 * All return 0 or a negative errno; a file that is not there is no error.
 */

int database_remove_side_files(const char *path);
int database_remove(const char *path);

/*
 * Gives all of them another name; those of that name go. Where one cannot be moved, those that were
 * have their names again: a database must not be apart from its side files.
 */
int database_move(const char *from, const char *to);

/* What they have together. */
uint64_t database_bytes(const char *path);

#endif
