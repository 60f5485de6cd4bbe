/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_JIT_NAMES_H
#define RESOLVE_JIT_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "film/writer.h"

/*
 * Names the frames of code that a process generated (resolve/jit_code.h). Runtimes write names late
 * and reuse addresses. So a frame may be named long after it was seen, and may be renamed when more
 * is known about its time. If another function takes a named frame's address, the code's age
 * increases.
 */
struct jit_names;
struct far_files;

/* far: opens the files; may be null (process/far_files.h). Returns null without memory. */
struct jit_names *jit_names_new(pid_t pid, struct far_files *far);
void jit_names_free(struct jit_names *names);

/* Adds a frame of the film whose address was seen for the first time. False: no memory. */
bool jit_names_want(struct jit_names *names, uint32_t frame, uint64_t address);

/*
 * Reads what the runtime wrote and names frames. last: the process has ended. Returns the number of
 * frames that got their first name.
 */
uint64_t jit_names_round(struct jit_names *names, struct film_writer *film, bool last);

/*
 * A number that increases when other code is at the address of a named frame: from then on the film
 * needs a new frame for that address.
 */
uint32_t jit_names_age(const struct jit_names *names);

/* What could not be named so far. */
struct jit_losses {
	uint64_t refused; /* functions that exceeded the limit */
	/* maps of which bytes were skipped because there was too much newer content */
	uint64_t passed;
	uint64_t unbelieved; /* frames without a name whose file is not trusted or cannot be read */
};

/* Number of functions in memory; and drops the older half of them. */
size_t jit_names_held(const struct jit_names *names);
void jit_names_forget(struct jit_names *names);

/*
 * Continues with another film: forgets the frames of the previous one and counts its unnamed frames
 * as losses.
 */
void jit_names_turn(struct jit_names *names, struct jit_losses *losses);

/* Adds the losses of a process. */
void jit_names_losses(const struct jit_names *names, struct jit_losses *losses);

#endif
