/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXPLAIN_DISK_H
#define QUERY_EXPLAIN_DISK_H

#include "query/explain/explain.h"

/* A thread that waited for disks at the same time as another one. */
struct explain_disk_user {
	uint32_t thread;
	uint64_t ns;  /* how long both waited */
	size_t slice; /* of the histories: the wait that was longest at the same time */
};

struct explain_disk_users {
	struct explain_disk_user all[EXPLAIN_NAMED]; /* longest first */
	unsigned int count;
	const char *disk; /* that the thread of the explanation waited for; "": not known */
};

/* Whether a slice is a wait for a disk, and not for a process that serves a file. */
bool explain_is_of_disk(const struct slice *slice);

/*
 * The other threads that waited for disks while the thread of an explanation did, where a disk is
 * what it waited for most; else there are none. Waits for files that are known to be on different
 * disks do not count, nor do threads of the kernel, which write for others.
 */
void explain_disk_users(const struct explainer *e, const struct explanation *x,
			struct explain_disk_users *users);

#endif
