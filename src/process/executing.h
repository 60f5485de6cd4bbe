/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_EXECUTING_H
#define PROCESS_EXECUTING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Where in their code some processes are, over a short time: what must be read of large libraries
 * before stacks through them can be walked is known then, before the first sample. Threads beyond a
 * number are left out, and so are all where perf events are not permitted.
 */
struct executing;

/* Begins to look at the threads that these processes have now. Null: it cannot. */
struct executing *executing_begin(const pid_t *pids, size_t count);

struct executed {
	pid_t pid;
	uint64_t address; /* of the page of code, with the address in it that was seen first */
	unsigned int count;
};

/*
 * Ends it: writes at most max places, those that were seen most first, one for each page of code.
 * Returns how many. Frees executing, which may be null.
 */
size_t executing_end(struct executing *executing, struct executed *places, size_t max);

#endif
