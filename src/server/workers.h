/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_WORKERS_H
#define SERVER_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/* A few threads that work on what stands in a queue of bounded length. */
struct workers;

struct workers_options {
	size_t count, queue;
	void (*work)(void *context, void *item);
	void *context;
	const char *name; /* of the threads, static; at most 15 characters */
	/* they get the CPU behind all that is in a hurry: the recorder, what is filmed */
	bool is_patient;
};

int workers_start(const struct workers_options *options, struct workers **workers,
		  struct fail *why);

/*
 * A place in the queue. False: it is full, or the workers end. A caller that got a place must put
 * an item there: so something can be done between the two that must come before the work, and only
 * if there will be some.
 */
bool workers_reserve(struct workers *workers);
void workers_put(struct workers *workers, void *item);

/*
 * Works off the queue and ends the threads; from then on there is no place any more. Null is
 * allowed.
 */
void workers_end(struct workers *workers);
void workers_free(struct workers *workers); /* they have ended, or null */

#endif
