/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_SELECT_H
#define PROCESS_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Which processes a recording verb films, as the user said it: -p, -t, -n, --cgroup, -a or a
 * command. This room knows what a selection means for a process; the filter in the kernel is
 * camera/'s.
 */
struct selection {
	bool whole_machine; /* -a, or nothing was named */
	pid_t *pids;	    /* -p */
	size_t pid_count;
	int *pidfds; /* of these processes, opened by selection_check(); -1: could not be */
	pid_t *tids; /* -t */
	size_t tid_count;
	char **names; /* -n: globs on the process's name (comm) or its exe's base name */
	size_t name_count;
	char **cgroups; /* --cgroup: a path below the cgroup file system, or with its mount point */
	size_t cgroup_count;
	bool no_children; /* --no-children */
	char **command;	  /* -- CMD ARG…, null-terminated; borrowed */
	/* the same, where others are named: it is not filmed, and runs as long as they are */
	char **beside;
	/* what cgroups stand for, found by selection_check() */
	struct cgroup_place *places;
	size_t place_count;
};

/* Adds what stood behind an option: "1,2,3" for -p and -t; one pattern or path for the others. */
int selection_add_pids(struct selection *s, const char *list, struct fail *why);
int selection_add_tids(struct selection *s, const char *list, struct fail *why);
int selection_add_name(struct selection *s, const char *glob, struct fail *why);
int selection_add_cgroup(struct selection *s, const char *path, struct fail *why);

/*
 * After all options: sets whole_machine if nothing was named, refuses combinations that mean
 * nothing (-a with -p …), and processes, threads and control groups that do not exist. A command
 * beside what was named becomes s->beside.
 */
int selection_check(struct selection *s, struct fail *why);

/*
 * Whether a process is meant by -n or --cgroup (by /proc; false also when it is gone already). What
 * lies below a control group belongs to it. Needs selection_check() before.
 */
bool selection_wants(const struct selection *s, pid_t pid);

/*
 * Whether a process that runs is meant, by any of these options: of -p, the processes that made it
 * and still live count, too. Needs selection_check() before.
 */
bool selection_means(const struct selection *s, pid_t pid);

/* Whether a process that one of s->names means runs now. */
bool selection_name_runs(const struct selection *s, size_t place);

/* Whether -n means a process of this name: all that can be asked of one that is gone. */
bool selection_wants_name(const struct selection *s, const char *name);

/* A control group of version 2 as the kernel's filter names it. */
struct selection_cgroup {
	uint64_t id; /* what bpf_get_current_cgroup_id() returns in it */
	int level;   /* for bpf_get_current_ancestor_cgroup_id(): 0 is the root of all */
};

/*
 * The control groups of --cgroup that lie in version 2: at most max of them in groups; returns how
 * many there are. Needs selection_check() before. -EOPNOTSUPP: some lie in version 1 only, or we
 * are in a cgroup namespace, where levels are not known; then only selection_wants() can tell.
 */
int selection_cgroup_v2_ids(const struct selection *s, struct selection_cgroup *groups, size_t max);

void selection_free(struct selection *s);

#endif
