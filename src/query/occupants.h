/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_OCCUPANTS_H
#define QUERY_OCCUPANTS_H

#include "query/histories.h"

/* Which thread ran on which CPU when. All zero is not made yet. */
struct occupants {
	const struct histories *histories;
	size_t *ran;   /* places of slices on CPUs, by CPU, those of one CPU in order of time */
	size_t *first; /* by CPU: its first one in ran */
	uint32_t cpus;
};

/* Makes them, unless they are there. 0 or -ENOMEM; occupants_free() is needed in either case. */
int occupants_make(struct occupants *occupants, const struct histories *histories);
void occupants_free(struct occupants *occupants);

/*
 * The place in ran of the first stay on a CPU that ends behind a time; first[cpu + 1] where there
 * is none.
 */
size_t occupants_find(const struct occupants *occupants, uint32_t cpu, uint64_t time);

#endif
