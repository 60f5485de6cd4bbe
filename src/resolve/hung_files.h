/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_HUNG_FILES_H
#define RESOLVE_HUNG_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "process/far_files.h"

/*
 * Reports a file system that hangs: once when that is noticed, and once, with the duration, when it
 * answers again. All zero: nothing reported yet.
 */
#define HUNG_FILES_MAX 16

struct hung_files {
	struct far_hang said[HUNG_FILES_MAX];
	size_t count;
	uint64_t since; /* since when the first of them hangs; 0: all answer */
};

/* now: clock_ns(). say may be null; its message contains paths, which are hostile. */
void hung_files_look(struct hung_files *hung, struct far_files *far, uint64_t now,
		     void (*say)(void *context, const char *words), void *context);

#endif
