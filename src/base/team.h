/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H

/*
 * Threads that share a job: each does a part, and the job is done once all have. The caller is one
 * of them.
 */
struct team;

/* A team for jobs with that many parts, at least 1. Null: no memory. Free it with team_free(). */
struct team *team_new(unsigned int parts);

/*
 * Calls part() once with each number below that of the parts, at the same time as far as threads
 * are to be had, and returns when all have returned. What the caller wrote before, they read, and
 * what they wrote, the caller reads.
 */
void team_do(struct team *team, void (*part)(void *context, unsigned int number), void *context);

void team_free(struct team *team);

/* How many parts are of use: at most the CPUs that this process may run on. */
unsigned int team_size(unsigned int most);

#endif
