/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_PYTHON_TASKS_H
#define RUNTIME_PYTHON_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/lanes/tasks_abi.h"
#include "process/image.h"

/*
 * What must be known of a file that has the C part of asyncio, of CPython 3.8 to 3.15, to see its
 * tasks run: where probes go, and where its records have what. The file is hostile input.
 */

/* The most probes of a file. */
#define PYTHON_TASKS_SITES_MAX 64

/* The most bytes of a task's record. */
#define PYTHON_TASKS_SIZE_MAX 192

struct python_tasks {
	struct python_tasks_site {
		uint64_t offset; /* in the file */
		enum tasks_place place;
	} sites[PYTHON_TASKS_SITES_MAX];
	size_t site_count;
	struct tasks_image image; /* but for since */
	/* bytes of a task's record; in its piece of memory, before it, and at most behind it */
	uint16_t size, before, behind;
};

/*
 * Returns 0; -ENOENT: it has no such part; -ENOTSUP: of a version or a kind that is not known, with
 * *why filled; another negative errno.
 */
int python_tasks_of(struct python_tasks *tasks, const struct image *image, struct fail *why);

#endif
