/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_PROBE_LOOK_H
#define TEST_PROBE_LOOK_H

#include "../prelude.h"

#include "probe/functions.h"
#include "elf/image.h"

/* An image with its list of functions. */
struct look {
	struct probe_functions list;
	struct elf_image elf;
	struct symbols *symbols;
	struct symbol_image image;
};

/* pattern: null, or the one that includes. */
void look_at(struct look *look, const char *path, const struct probe_question *question,
	     const char *pattern);
void look_away(struct look *look);

/* null: it is not there */
const struct probe_function *look_for(const struct look *look, const char *name);
const struct probe_function *look_for_address(const struct look *look, uint64_t address);

/* The virtual address of a place in the file; fails if it is not in an executable segment. */
uint64_t look_address(const struct look *look, uint64_t offset);

#endif
