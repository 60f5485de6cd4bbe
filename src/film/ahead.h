/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_AHEAD_H
#define FILM_AHEAD_H

#include <stddef.h>

/*
 * Things that are made one after the other and taken in the same order, the next one being made in
 * a thread of its own while one is taken. The result is the same as that of a loop that makes
 * one, takes it, and ends when take() returns something else than 0.
 */
struct ahead {
	size_t count;
	/*
	 * Makes number i into one of two places, that of i & 1. Runs in the thread, so that it
	 * shares nothing with take() but that place; never twice at a time, and not once
	 * ahead_run() has returned.
	 */
	void (*make)(void *context, size_t i);
	int (*take)(void *context, size_t i);
	void *context;
};

/*
 * Returns 0, or the value that ended it. One more may have been made by then. Where no thread is to
 * be had, it is done without.
 */
int ahead_run(const struct ahead *ahead);

#endif
