/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_MAPPINGS_H
#define PROCESS_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/images.h"
#include "process/targets.h"

/*
 * The executable mappings of one process: sorted, not overlapping, and in one form only: neighbours
 * that go on in the same file are one mapping. Each holds one use of its image.
 */
struct mappings {
	struct mapping *at;
	size_t count, room;
};

/* The most that are kept of one process; the kernel's own default limit is half that number. */
#define MAPPINGS_MAX 131072

/* The mapping that holds pc, or null. */
struct mapping *mappings_find(const struct mappings *m, uint64_t pc);

/*
 * Whether added would take the place of something else, and within which range. Growing or
 * repeating what is there replaces nothing.
 */
bool mappings_conflict(const struct mappings *m, const struct mapping *added, uint64_t *start,
		       uint64_t *end);

/*
 * Puts in a mapping, whose use of its image goes over to m; what it overlaps is cut, split or
 * removed. Returns 1: changed; 0: it was there already; -ENOMEM, -ENOSPC: not added, nothing
 * changed.
 */
int mappings_put(struct mappings *m, const struct mapping *added, struct images *images,
		 uint64_t time);

/*
 * The range that holds every difference from old to new that old would notice. False: there is
 * none.
 */
bool mappings_lost(const struct mappings *old, const struct mappings *new, uint64_t *start,
		   uint64_t *end);

bool mappings_equal(const struct mappings *a, const struct mappings *b);

/* Copies all of from into an empty to. False: no memory, or too many of all processes. */
bool mappings_copy(struct mappings *to, const struct mappings *from, struct images *images);

/* Removes all of them, or all but those that the kernel itself puts into every process. */
void mappings_clear(struct mappings *m, struct images *images, uint64_t time, bool keep_kernels);

void mappings_free(struct mappings *m, struct images *images, uint64_t time);

#endif
