/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_COROUTINES_H
#define SOURCES_REQUESTS_COROUTINES_H

#include "process/process.h"

/*
 * Processes that run CPython: the kernel side gets to know where they have what shows which task of
 * an event loop sends (bpf/requests/python.h).
 */
struct requests_coroutines;

/* map: of the kernel side, process to struct requests_python. */
struct requests_coroutines *requests_coroutines_new(int map);
void requests_coroutines_free(struct requests_coroutines *coroutines); /* null is allowed */

/* A process maps an image, and then ends, or runs another program. */
void requests_coroutines_meet(struct requests_coroutines *coroutines, pid_t pid,
			      const struct image *image);
void requests_coroutines_ended(struct requests_coroutines *coroutines, pid_t pid);

/* About once a second: looks at those whose interpreter was not ready before. */
void requests_coroutines_tick(struct requests_coroutines *coroutines,
			      const struct process *(*find)(void *context, pid_t pid),
			      void *context);

/* Processes whose tasks will not be known. */
uint64_t requests_coroutines_refused(const struct requests_coroutines *coroutines);

#endif
