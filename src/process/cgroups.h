/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_CGROUPS_H
#define PROCESS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Control groups by path: a path may be given with the mount point of its hierarchy or without it,
 * and exist in several hierarchies of version 1 and in version 2 (cgroups(7)).
 */

/* A group in one hierarchy. */
struct cgroup_place {
	bool v2;
	char *controllers; /* mount options of the hierarchy in version 1, "" in version 2 */
	char *path;	   /* as /proc/PID/cgroup has it */
	uint64_t id;	   /* inode: in version 2 the kernel's id of the group */
};

/* One line of mountinfo that mounts a hierarchy. */
struct cgroup_mount {
	bool v2;
	char *options; /* of the hierarchy: "rw,cpu,cpuacct" */
	char *root;    /* the group that is mounted */
	char *point;   /* where */
};

/* Parses a line of mountinfo, which is changed. False: it mounts something else. */
bool cgroup_parse_mount(char *line, struct cgroup_mount *mount);

/*
 * Finds the groups that a path stands for and appends them to *places (freed with
 * cgroup_places_free). Returns 0; -ENOENT: there is none; -EINVAL: no path of a group; other
 * negative errnos.
 */
int cgroup_resolve(const char *path, struct cgroup_place **places, size_t *count);

/* Whether a process is in the group or below it, by its cgroup file (changed on the way). */
bool cgroup_holds(const struct cgroup_place *place, char *text);

void cgroup_places_free(struct cgroup_place *places, size_t count);

#endif
