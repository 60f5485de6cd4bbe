/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include "base/fail.h"

/*
 * A folder of our own for a file that only this process needs: in the folder that TMPDIR names,
 * else in memory (/dev/shm), else in /tmp. Only its owner can look into it.
 */
struct temporary {
	char *folder;
	char *path; /* of the file in it, which the caller makes */
};

/* Returns 0 or a negative errno with *why filled; temporary_remove() is needed after success. */
int temporary_make(const char *file, struct temporary *temporary, struct fail *why);

/*
 * Removes the file, those that SQLite puts beside it, and the folder. What has it open can still
 * read it. May be called again, and for one that is all zero.
 */
void temporary_remove(struct temporary *temporary);

#endif
