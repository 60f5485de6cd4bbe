/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_GROUPS_H
#define QUERY_GROUPS_H

#include "query/tree.h"
#include "query/view.h"

/*
 * The sums of one process, thread or image, or of an image within a thread; of waits with one cause
 * or one waker. Members by which the tree is not grouped are null.
 */
struct group {
	const struct film_process *process; /* also if only threads were requested */
	/* what all its processes have in common, of which this is one; null: it is that process */
	const char *processes, *processes_key; /* and that in JSON: "process", "cgroup" */
	/* of a service: as its processes themselves say, "1.4.2, 1.4.3"; null: none says it */
	char *versions, *environments;
	const struct film_thread *thread;
	const struct label *image;	   /* or a mark */
	const struct label *cpu;	   /* a mark: "[CPU 3]", "[unknown CPU]" */
	const struct label *endpoint;	   /* or a mark: "[no request]" */
	const struct label *wait, *waker;  /* marks: "[lock]", "[woken by redis-server (12)]" */
	const struct label *lock, *holder; /* marks: "[mutex guard in app]", "[owner: app (12)]" */
	/* for groups by lock or holder: number of single waits, and the longest, ns */
	uint64_t waits, longest;
	/* for groups by lock only: the first holders, "flusher (12) owner, …"; else null */
	char *holders;
	uint64_t samples;     /* 0 for images and marks: not counted */
	uint64_t self, total; /* total: for images including callees; else equal to self */
};

/* Sorted by self, then total, largest first. The sum of all self values is the tree's total. */
struct groups {
	struct group *at;
	size_t count, room;
};

/*
 * Lists the groups of TREE_NOW of a summed-up tree; none if its shape has none. The tree must
 * outlive the result. Returns 0 or -ENOMEM; call groups_free() in both cases.
 */
int groups_of(const struct tree *tree, const struct film *film, const struct flame *flame,
	      struct groups *groups);
void groups_free(struct groups *groups);

/*
 * Fills the members on services. The tree must have been made from the view. Returns 0 or -ENOMEM.
 */
int groups_add_services(struct groups *groups, const struct tree *tree, const struct view *view);

/* Fills the members on locks: waits, longest, holders. Returns 0 or -ENOMEM. */
int groups_add_locks(struct groups *groups, const struct view *view);

#endif
