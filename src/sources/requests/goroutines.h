/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_GOROUTINES_H
#define SOURCES_REQUESTS_GOROUTINES_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/image.h"

/*
 * Processes whose threads run goroutines, in turn: what a thread does one after the other need not
 * have to do with each other. The kernel side gets to know where they have the numbers of their
 * goroutines, if that is known of their version of Go.
 */
struct requests_goroutines;

/* map: of the kernel side, process to struct requests_go. */
struct requests_goroutines *requests_goroutines_new(int map);
void requests_goroutines_free(struct requests_goroutines *goroutines); /* null is allowed */

/* A process maps an image, and then ends, or runs another program. */
void requests_goroutines_meet(struct requests_goroutines *goroutines, pid_t pid,
			      const struct image *image);
void requests_goroutines_ended(struct requests_goroutines *goroutines, pid_t pid);

/*
 * About once a second: calls too_many() for each process that makes more goroutines than are to be
 * noted, because each costs it something: far fewer if it has asked others for nothing yet. If that
 * returns true they are noted no more, and it is not called again.
 */
void requests_goroutines_tick(struct requests_goroutines *goroutines,
			      bool (*too_many)(void *context, pid_t pid), void *context);

bool requests_goroutines_has(const struct requests_goroutines *goroutines, pid_t pid);

#endif
