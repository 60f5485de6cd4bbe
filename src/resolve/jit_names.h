/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_JIT_NAMES_H
#define RESOLVE_JIT_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "film/writer.h"

/*
 * Names of the frames that lie in code which a process made while it ran (resolve/jit_code.h).
 * Runtimes write late and use places again, so a frame can be named long after it was seen, be
 * named anew when more is known of its time, and be outlived by its name: then the process's code
 * has a new age.
 */
struct jit_names;
struct far_files;

/* far: opens its files; it may be null (process/far_files.h). Null: no memory. */
struct jit_names *jit_names_new(pid_t pid, struct far_files *far);
void jit_names_free(struct jit_names *names);

/* A frame of the film that was seen at address for the first time. False: no memory. */
bool jit_names_want(struct jit_names *names, uint32_t frame, uint64_t address);

/*
 * Reads what the runtime has written and names frames. last: the process is gone. Returns how many
 * got a name that had none.
 */
uint64_t jit_names_round(struct jit_names *names, struct film_writer *film, bool last);

/*
 * Goes up when other code lies where a named frame is: a frame of that address that is seen from
 * now on must be a new one of the film.
 */
uint32_t jit_names_age(const struct jit_names *names);

/* What could not be named, so far. */
struct jit_losses {
	uint64_t refused;    /* functions over the limit of what is kept */
	uint64_t passed;     /* maps with bytes that were not read, since too much was newer */
	uint64_t unbelieved; /* frames, beside a file that is not believed or cannot be read */
};

/* Functions that are kept for it, and to forget the older half of them. */
size_t jit_names_held(const struct jit_names *names);
void jit_names_forget(struct jit_names *names);

/*
 * Another film: forgets the frames of the one before, and counts those without a name among the
 * losses.
 */
void jit_names_turn(struct jit_names *names, struct jit_losses *losses);

/* Adds those of a process. */
void jit_names_losses(const struct jit_names *names, struct jit_losses *losses);

#endif
