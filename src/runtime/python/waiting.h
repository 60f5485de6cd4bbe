/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_PYTHON_WAITING_H
#define RUNTIME_PYTHON_WAITING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/resident.h"
#include "runtime/python/tasks.h"

/*
 * The tasks of asyncio that await something, in the memory of a process that runs on meanwhile, and
 * that is hostile input. Which lists CPython has of its tasks differs from version to version, and
 * they change while they are read. But a task is a small object, and those of one size lie in pools
 * of their own, so the pools are searched; and each task is in a list of the garbage collector,
 * where its two neighbours must point to it.
 */
struct python_waiting {
	uint64_t at;	    /* the task's address */
	uint64_t waits_for; /* that of the future that it awaits */
	uint64_t name;	    /* that of the object that is its name */
	bool for_task;	    /* what it awaits is a task */
};

/* How many pages of a process are looked for, and how many of those that are there looked into. */
#define PYTHON_WAITING_LOOKS (1u << 22)
#define PYTHON_WAITING_PAGES (1u << 19)

/*
 * Calls emit() with each of them that is found. Returns 0, -EFBIG: there is more memory than is
 * searched; -ENODATA: the interpreter has another allocator of small objects, as with PYTHONMALLOC
 * or -X dev; or another negative errno. One that the collector looks at, or that changes, is not
 * found.
 */
int python_waiting_find(pid_t pid, const struct python_tasks *facts,
			void (*emit)(void *context, const struct python_waiting *waiting),
			void *context);

/* Whether a task awaits something, and what. */
bool python_waiting_read(struct resident *memory, const struct python_tasks *facts, uint64_t at,
			 struct python_waiting *waiting);

/*
 * What a task is called, as bpf/lanes/tasks.bpf.c would tell it. What cannot be read stays as it
 * was.
 */
void python_waiting_name(struct resident *memory, const struct python_tasks *facts,
			 const struct python_waiting *waiting, struct tasks_named *named);

#endif
