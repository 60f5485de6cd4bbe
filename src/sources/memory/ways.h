/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_WAYS_H
#define SOURCES_MEMORY_WAYS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"

/* In which ways the memory of a running process could be recorded, and what each would cost. */

struct mem_way {
	const char *event; /* "mem-inuse", as record takes it with the options that it needs */
	bool works;
	char words[512]; /* the way, or why there is none */
	const char *cost;
};

struct mem_ways {
	char comm[16];
	char allocator[192]; /* files with one, and which is called; "": none was found */
	struct mem_way at[8];
	size_t count;
};

/*
 * Looks at a process and at the files that it maps; changes nothing there. Returns 0; or -ESRCH,
 * another negative errno, with *why filled.
 */
int mem_ways_find(pid_t pid, struct mem_ways *ways, struct fail *why);

#endif
