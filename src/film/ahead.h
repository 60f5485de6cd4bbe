/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_AHEAD_H
#define FILM_AHEAD_H

#include <stddef.h>

#include "film/reader.h"

/* How many places there are: what is made is in that of its number modulo these. */
enum {
	AHEAD_PLACES = 4,
	AHEAD_CONSUMERS_MAX = FILM_AT_ONCE_MAX
};

/*
 * Things that are made ahead, in threads of their own, and that one or more consumers get, each of
 * them all, in the order of their numbers.
 */
struct ahead {
	size_t count;
	/*
	 * Makes number i into its place. Runs in a thread, so that it shares nothing that changes
	 * with emit(), nor with itself, but that place; not once ahead_run() has returned.
	 */
	void (*make)(void *context, size_t i);
	/*
	 * Other than 0: nothing is emitted any more. Each consumer is in a thread, 0 is in the
	 * caller's.
	 */
	int (*emit)(void *context, unsigned int consumer, size_t i);
	unsigned int consumers; /* 1 to AHEAD_CONSUMERS_MAX */
	void *context;
};

/*
 * Returns 0, or what ended it: of several consumers that of the first one that has such a value.
 * With one consumer the result is the same as that of a loop that makes one, takes it, and ends
 * when emit() returns something else than 0; but as many as there are places may have been made
 * behind that one by then. Where threads are not to be had, it is done without.
 */
int ahead_run(const struct ahead *ahead);

#endif
