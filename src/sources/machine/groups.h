/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MACHINE_GROUPS_H
#define SOURCES_MACHINE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * Limits of the memory of control groups, in the hierarchy of version 2, or that of version 1 for
 * memory. Those of interest are named anew for each reading.
 */
#define MACHINE_GROUP_PATH 512

struct machine_groups {
	char *point; /* where the hierarchy is mounted; null: nowhere that is known */
	bool v2;
	vec(struct machine_group {
		uint64_t path; /* a hash */
		char name[MACHINE_GROUP_PATH];
	}) all;
	uint64_t left_out; /* of this reading: processes whose group had no room, */
	uint64_t refused;  /* and the most of a reading so far */
};

/* Looks where the hierarchy is. text: of mountinfo, changed. */
void machine_groups_find(struct machine_groups *groups, char *text);
void machine_groups_free(struct machine_groups *groups);

/* Names a group by its path within the hierarchy, and so all above it. */
void machine_groups_add(struct machine_groups *groups, const char *path);

/*
 * Gives those whose memory is near their limit, and forgets what was named. Few files are read: of
 * each group its limit, and its use where it has one.
 */
void machine_groups_read(struct machine_groups *groups,
			 void (*emit)(void *context, const char *path, uint64_t limit),
			 void *context);

#endif
