/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SHOW_FLAME_BUILD_H
#define TESTS_UNIT_SHOW_FLAME_BUILD_H

#include "query/flame.h"

/*
 * Flames built by hand, for the tests of what draws them. Nodes are added below their parent; then
 * flame_build_finish() sums totals and sorts siblings. Strings are not copied.
 */
void flame_build_start(struct flame *flame, const char *event, const char *unit, const char *title);

/* Returns the index of the new node. Running out of memory ends the program. */
uint32_t flame_build_add(struct flame *flame, uint32_t parent, struct flame_node node);

void flame_build_finish(struct flame *flame);

/* As flame_free(), which belongs to another room. */
void flame_build_free(struct flame *flame);

/* What the larger samples look like. */
struct flame_sample {
	uint32_t nodes;
	bool is_diff, is_hostile;
};

/* A made-up server under load: plausible names, the same for the same arguments. */
void flame_build_server(struct flame *flame, const struct flame_sample *sample);

/* A tower of that many levels, and a root with that many children. */
void flame_build_deep(struct flame *flame, uint32_t levels);
void flame_build_wide(struct flame *flame, uint32_t children);

/* Names that someone wrote who wants a page, a terminal or a reader to go wrong. */
extern const char *const flame_hostile_names[];
extern const unsigned int flame_hostile_count;

#endif
