/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_TASK_NAMES_H
#define SOURCES_LANES_TASK_NAMES_H

#include <sys/types.h>

#include "base/map.h"
#include "bpf/lanes/tasks_abi.h"

/* What tasks are called, by their numbers. All zero is empty. */
struct task_names {
	struct map all;
	uint64_t refused; /* too many, or no memory */
};

#define TASK_NAME_MAX (TASKS_NAME_MAX + TASKS_QUALIFIED_MAX + 4)

void task_names_free(struct task_names *names);

/* Adds a record, which is a process's own words. */
void task_names_add(struct task_names *names, const struct tasks_named *named);

/*
 * "Task-3 main": the task's name, and its coroutine's qualified name, as far as they are known;
 * else "task 17", by its number.
 */
void task_names_get(const struct task_names *names, uint64_t number, char to[TASK_NAME_MAX]);

/* It has ended, or all of a process have. */
void task_names_remove(struct task_names *names, uint64_t number);
void task_names_ended(struct task_names *names, pid_t pid);

#endif
