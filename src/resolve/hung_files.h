/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_HUNG_FILES_H
#define RESOLVE_HUNG_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "process/far_files.h"

/*
 * Says once that a file system does not answer, when it has just been found, and once for how long
 * it did not. All zero: nothing was said yet.
 */
#define HUNG_FILES_MAX 16

struct hung_files {
	struct far_hang said[HUNG_FILES_MAX];
	size_t count;
	uint64_t since; /* of the one that has been silent for longest; 0: all answer */
};

/* now: ns of clock_ns(). say may be null; its words hold paths, which are hostile. */
void hung_files_look(struct hung_files *hung, struct far_files *far, uint64_t now,
		     void (*say)(void *context, const char *words), void *context);

#endif
