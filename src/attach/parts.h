/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_PARTS_H
#define ATTACH_PARTS_H

#include <stdbool.h>

#include "base/fail.h"
#include "base/vec.h"
#include "process/select.h"

/* The files that the selected programs consist of: mapped, or to be mapped. */
struct part {
	int fd;
	char *path, *root;
	bool is_program;
};

struct parts {
	vec(struct part) all;
};

/*
 * Opens the files. Returns 0 or a negative errno with *why filled; call parts_free() in both cases.
 */
int parts_find(const struct selection *selection, struct parts *parts, struct fail *why);
void parts_free(struct parts *parts);

/* The process of a thread; tid itself if the thread has ended. */
pid_t parts_process_of_thread(pid_t tid);

#endif
