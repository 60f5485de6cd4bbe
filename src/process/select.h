/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_SELECT_H
#define PROCESS_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * The processes that a verb records, by the user's options: -p, -t, -n, --cgroup, -a or a command.
 * This file decides for processes in user space; attach/filter.h is the filter in the kernel.
 */
struct selection {
	bool whole_machine; /* -a, or no other option */
	pid_t *pids;	    /* -p */
	size_t pid_count;
	int *pidfds; /* of pids, opened by selection_check(); -1: not possible */
	pid_t *tids; /* -t */
	size_t tid_count;
	char **names; /* -n: globs for the process's name (comm) or its exe's base name */
	size_t name_count;
	/* --cgroup: a path relative to the cgroup file system, or an absolute one */
	char **cgroups;
	size_t cgroup_count;
	bool no_children; /* --no-children */
	char **command;	  /* -- CMD ARG…, null-terminated; borrowed */
	/*
	 * a command beside other options: it is not recorded, and the recording lasts as long as it
	 * runs
	 */
	char **beside;
	/* the control groups of cgroups, found by selection_check() */
	struct cgroup_place *places;
	size_t place_count;
};

/* Add the argument of an option: "1,2,3" for -p and -t; one pattern or path for the others. */
int selection_add_pids(struct selection *s, const char *list, struct fail *why);
int selection_add_tids(struct selection *s, const char *list, struct fail *why);
int selection_add_name(struct selection *s, const char *glob, struct fail *why);
int selection_add_cgroup(struct selection *s, const char *path, struct fail *why);

/*
 * Call it after all options. Sets whole_machine if nothing was selected; moves a command beside
 * other options to s->beside; refuses meaningless combinations (-a with -p …), and processes,
 * threads and control groups that do not exist.
 */
int selection_check(struct selection *s, struct fail *why);

/*
 * Whether -n or --cgroup selects a process, by /proc; false also if the process has ended. A
 * control group includes those below it. Needs selection_check() before.
 */
bool selection_wants(const struct selection *s, pid_t pid);

/*
 * Whether any option selects a running process. -p also selects processes whose running ancestors
 * it names. Needs selection_check() before.
 */
bool selection_means(const struct selection *s, pid_t pid);

/* Whether a process that s->names[place] selects is running. */
bool selection_name_runs(const struct selection *s, size_t place);

/*
 * Whether -n selects a process with this name, which is all that can be decided for a process that
 * has ended.
 */
bool selection_wants_name(const struct selection *s, const char *name);

/* A control group of version 2, as identified in the kernel's filter. */
struct selection_cgroup {
	uint64_t id; /* the result of bpf_get_current_cgroup_id() in it */
	int level;   /* for bpf_get_current_ancestor_cgroup_id(); 0: the root */
};

/*
 * Lists the control groups of --cgroup in version 2, at most max, and returns their number. Needs
 * selection_check() before. -EOPNOTSUPP: some exist only in version 1, or this process is in a
 * cgroup namespace, where levels are not known; only selection_wants() can decide then.
 */
int selection_cgroup_v2_ids(const struct selection *s, struct selection_cgroup *groups, size_t max);

void selection_free(struct selection *s);

#endif
