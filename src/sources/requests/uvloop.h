/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_UVLOOP_H
#define SOURCES_REQUESTS_UVLOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "sources/probed_images.h"

/*
 * Where tasks of uvloop write (bpf/requests/uvloop.h). It is compiled by Cython, and the functions
 * have no symbols. But Python finds them by tables of methods: a name, a function, flags, a text.
 * Those that are looked for stand in a row there: write, writelines, write_eof, can_write_eof.
 */
extern const struct probed_kind requests_uvloop_kind;

/*
 * Places in a file, at which methods begin by which something is written. False: it has none, or
 * there is no memory. vec_free() is needed in either case.
 */
struct requests_uvloop_places {
	vec(uint64_t) offsets;
};
bool requests_uvloop_find(const struct image *image, struct requests_uvloop_places *places);

#endif
