/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_ACTIVITY_H
#define PROCESS_ACTIVITY_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Which processes use the CPU at the moment: their CPU times (/proc/PID/stat) are read twice, and
 * those that grew between belong to processes that ran. A clock tick is 10 ms: one that runs less
 * may be missed.
 */
struct activity;

/* Reads for the first time. Null: no memory. */
struct activity *activity_begin(void);

/*
 * Reads again: writes at most max pids of processes that ran since, those that ran most first; one
 * that is new has run since its beginning. Returns how many. Frees activity, which may be null:
 * then no process ran.
 */
size_t activity_end(struct activity *activity, pid_t *pids, size_t max);

#endif
