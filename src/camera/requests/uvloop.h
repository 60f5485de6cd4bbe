/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_REQUESTS_UVLOOP_H
#define CAMERA_REQUESTS_UVLOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "process/image.h"

/*
 * Where tasks of uvloop write (bpf/requests_uvloop.h). It is compiled by Cython, and the functions
 * have no symbols. But Python finds them by tables of methods: a name, a function, flags, a text.
 * Those that are looked for stand in a row there: write, writelines, write_eof, can_write_eof.
 */

struct requests_uvloop;
struct bpf_program;

int requests_uvloop_new(struct bpf_program *site, bool bind, struct requests_uvloop **result);
void requests_uvloop_detach(struct requests_uvloop *uvloop);
void requests_uvloop_free(struct requests_uvloop *uvloop); /* null is allowed */
unsigned int requests_uvloop_meet(struct requests_uvloop *uvloop, pid_t pid,
				  const struct image *image);
void requests_uvloop_ended(struct requests_uvloop *uvloop, pid_t pid);

/* Files of uvloop that could not be probed. */
uint64_t requests_uvloop_refused(const struct requests_uvloop *uvloop);

/*
 * Places in a file, at which methods begin by which something is written. False: it has none, or
 * there is no memory. vec_free() is needed in either case.
 */
struct requests_uvloop_places {
	vec(uint64_t) offsets;
};
bool requests_uvloop_find(const struct image *image, struct requests_uvloop_places *places);

#endif
