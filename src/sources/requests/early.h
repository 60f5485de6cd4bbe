/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_EARLY_H
#define SOURCES_REQUESTS_EARLY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Requests that were made soon after the recording began, by a thread that served just one that was
 * seen: an event loop may have had others since before, for one of which it is. That shows once
 * such a one is answered. So those that were made are kept for a while.
 *
 * A thread is its process's number, and its own in the lower 32 bits. Times are ns.
 */
struct requests_early;

/* kept is the caller's again; is_wrong: the thread served another one at that time, too. */
typedef void requests_early_release(void *context, void *kept, bool is_wrong);

struct requests_early *requests_early_new(requests_early_release *release, void *context);
void requests_early_free(struct requests_early *early);

/* Something happened: the first time is when the recording began. */
void requests_early_now(struct requests_early *early, uint64_t time);
/* The thread answers a request from before the recording. */
void requests_early_answered(struct requests_early *early, uint64_t thread, uint64_t time);
/*
 * One that the thread made then is over: whether it is kept, as it was early. kept may be null:
 * there was no memory.
 */
bool requests_early_keep(struct requests_early *early, uint64_t thread, uint64_t begun, void *kept);

/* About once a second. */
void requests_early_tick(struct requests_early *early);
/* Releases all that is kept: their film ends. */
void requests_early_flush(struct requests_early *early);

/* How many were early, but not kept, or given without that being known: there were too many. */
uint64_t requests_early_unchecked(const struct requests_early *early);

#endif
