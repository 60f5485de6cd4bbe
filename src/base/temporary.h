/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include "base/fail.h"

/*
 * A private folder for a temporary file of this process: in the folder that TMPDIR names, else in
 * memory (/dev/shm), else in /tmp. Only its owner can access it.
 */
struct temporary {
	char *folder;
	char *path; /* of the file in the folder, which the caller creates */
};

/*
 * Creates the folder. Returns 0 or a negative errno with *why filled; call temporary_remove() after
 * success.
 */
int temporary_make(const char *file, struct temporary *temporary, struct fail *why);

/*
 * Removes the file, SQLite's side files, and the folder. Open descriptors stay valid. May be called
 * twice, and for a struct that is all zero.
 */
void temporary_remove(struct temporary *temporary);

#endif
