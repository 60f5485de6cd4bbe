/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_GO_PLACES_H
#define RUNTIME_GO_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "elf/image.h"
#include "process/image.h"

/*
 * Where probes on functions of Go go: behind the first instruction, which compares the stack
 * pointer with the stack's border. The next one, a jump, is among those that the kernel emulates.
 */

/* The address behind that instruction, if a function begins with it, and such a jump follows. */
uint64_t go_place_behind_border(const struct elf_image *image, uint64_t start);

/*
 * The places of some functions in a file, by Go's own table of functions, which no program is
 * stripped of. offsets: in the file, 0: there is no such function. Returns 0; -ENOENT: the file is
 * not Go's; another negative errno with *why filled.
 */
int go_places_find(const struct image *image, const char *const *functions, size_t count,
		   uint64_t *offsets, struct fail *why);

#endif
