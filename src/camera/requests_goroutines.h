/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_REQUESTS_GOROUTINES_H
#define CAMERA_REQUESTS_GOROUTINES_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/image.h"

/*
 * Processes whose threads run goroutines, in turn: what a thread does one after the other need not
 * have to do with each other.
 */
struct requests_goroutines;

struct requests_goroutines *requests_goroutines_new(void);
void requests_goroutines_free(struct requests_goroutines *goroutines); /* null is allowed */

/* A process maps an image, and then ends. */
void requests_goroutines_meet(struct requests_goroutines *goroutines, pid_t pid,
			      const struct image *image);
void requests_goroutines_ended(struct requests_goroutines *goroutines, pid_t pid);

bool requests_goroutines_has(const struct requests_goroutines *goroutines, pid_t pid);

#endif
