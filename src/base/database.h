/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DATABASE_H
#define BASE_DATABASE_H

#include <stdint.h>

/*
 * Handles the files of an SQLite database: the main file, and the side files (journal, WAL) with
 * content that the main file does not have yet. Functions return 0 or a negative errno; a missing
 * file is not an error.
 */

int database_remove_side_files(const char *path);
int database_remove(const char *path);

/*
 * Renames all files of a database and replaces those at the new name. If one rename fails, the
 * earlier ones are undone: a database must not be separated from its side files.
 */
int database_move(const char *from, const char *to);

/* Total size of all files, in bytes. */
uint64_t database_bytes(const char *path);

#endif
