/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_AHEAD_H
#define FILM_AHEAD_H

#include <stddef.h>

/* How many places there are: what is made is in that of its number modulo these. */
enum {
	AHEAD_PLACES = 4
};

/*
 * Things that are made and taken in the order of their numbers, the next ones being made in threads
 * of their own while one is taken. The result is the same as that of a loop that makes one, takes
 * it, and ends when take() returns something else than 0.
 */
struct ahead {
	size_t count;
	/*
	 * Makes number i into its place. Runs in a thread, so that it shares nothing that changes
	 * with take(), nor with itself, but that place; not once ahead_run() has returned.
	 */
	void (*make)(void *context, size_t i);
	int (*take)(void *context, size_t i);
	void *context;
};

/*
 * Returns 0, or the value that ended it. As many as there are places may have been made behind that
 * one by then. Where no thread is to be had, it is done without.
 */
int ahead_run(const struct ahead *ahead);

#endif
