/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_TASKS_H
#define SOURCES_REQUESTS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/*
 * For which request a task of an event loop (asyncio's, say) makes another one. Its frameworks
 * receive a request before there is a task for it, or wake one with it; but the task that sends the
 * answer is the one that has worked for it. So what a task has made since the request was received
 * is for the request that the same task answers.
 *
 * A task answers one request after the other. One that has answered two of different connections
 * which were open at the same time is none that works for one request at a time; a process where
 * that is not rare is not believed.
 *
 * What is made by a task of a request's own, which answers nothing, stays unknown.
 *
 * Tasks are numbers, of which no two are the same in all processes.
 */
struct requests_tasks;

/*
 * A request that was made, and was kept, is for that one (0: for which is not known); kept is the
 * caller's again.
 */
typedef void requests_tasks_release(void *context, void *kept, uint64_t parent);

struct requests_tasks *requests_tasks_new(requests_tasks_release *release, void *context);
void requests_tasks_free(struct requests_tasks *tasks); /* null is allowed */

/* A task makes a request, at a time. Returns whether it may turn out for which one. */
bool requests_tasks_made(struct requests_tasks *tasks, uint64_t task, uint32_t pid, uint64_t made,
			 uint64_t time);

/*
 * One that was made is over: returns whether kept is kept until it is known what it was for, and
 * then given to release(), maybe at once. False: it is not known here.
 */
bool requests_tasks_over(struct requests_tasks *tasks, uint64_t made, void *kept);

/* A task has sent a part of an answer, at a time. */
struct requests_tasks_answer {
	uint32_t pid;
	uint64_t served, connection; /* numbers */
	uint64_t begun, time;	     /* since when that request is served, and now */
};
void requests_tasks_answered(struct requests_tasks *tasks, uint64_t task,
			     const struct requests_tasks_answer *answer);

/*
 * Releases what can only turn out for requests that are not served any more. oldest: of each
 * process that serves one, since when it serves the oldest of those that are not over.
 */
void requests_tasks_tick(struct requests_tasks *tasks, const struct map *oldest);

/* Releases all that is kept: their film ends. */
void requests_tasks_flush(struct requests_tasks *tasks);

#endif
