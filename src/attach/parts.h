/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_PARTS_H
#define ATTACH_PARTS_H

#include <stdbool.h>

#include "base/fail.h"
#include "base/vec.h"
#include "process/select.h"

/* Files that the programs of a selection consist of, as they are mapped, or will be. */
struct part {
	int fd;
	char *path, *root;
	bool is_program;
};

struct parts {
	vec(struct part) all;
};

/*
 * Opens them. Returns 0 or a negative errno with *why filled; parts_free() is needed in either
 * case.
 */
int parts_find(const struct selection *selection, struct parts *parts, struct fail *why);
void parts_free(struct parts *parts);

/* The process of a thread; its own number if it is gone. */
pid_t parts_process_of_thread(pid_t tid);

#endif
