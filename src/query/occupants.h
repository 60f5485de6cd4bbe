/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_OCCUPANTS_H
#define QUERY_OCCUPANTS_H

#include "query/histories.h"

/* An index of the threads that ran on each CPU. All zero: not built yet. */
struct occupants {
	const struct histories *histories;
	size_t *ran;   /* indexes of slices on CPUs, sorted by CPU, then time */
	size_t *first; /* by CPU: index of its first entry in ran */
	uint32_t cpus;
};

/* Builds the index unless it exists. Returns 0 or -ENOMEM; call occupants_free() in both cases. */
int occupants_make(struct occupants *occupants, const struct histories *histories);
void occupants_free(struct occupants *occupants);

/* The index in ran of the first stay on a CPU that ends after a time; first[cpu + 1]: none. */
size_t occupants_find(const struct occupants *occupants, uint32_t cpu, uint64_t time);

#endif
