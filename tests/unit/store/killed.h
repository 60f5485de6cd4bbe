/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_STORE_KILLED_H
#define TESTS_UNIT_STORE_KILLED_H

#include <stdbool.h>

/*
 * A store that is killed in the midst of its work. Where a child ends, as if it was killed: before
 * that many calls of what changes the disk, or statements of SQLite; -1: never.
 */
extern long calls_left, steps_left;

/*
 * Ends a child in the midst of its work; what is there afterwards is complete. True: it was done
 * before that.
 */
bool work_and_die(long *left, long after);

#endif
