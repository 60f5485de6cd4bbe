/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_GROUPS_H
#define QUERY_GROUPS_H

#include "query/tree.h"
#include "query/view.h"

/*
 * What was spent in one process, thread or image, or in one image within a thread; of waits, for
 * what they were, and by what they were ended. What a tree is not grouped by is null.
 */
struct group {
	const struct film_process *process; /* also where only threads were asked for */
	bool by_name;			    /* all of that name: this is one of them */
	const struct film_thread *thread;
	const struct label *image;	   /* or a mark */
	const struct label *endpoint;	   /* or a mark: "[no request]" */
	const struct label *wait, *waker;  /* marks: "[lock]", "[woken by redis-server (12)]" */
	const struct label *lock, *holder; /* marks: "[mutex guard in app]", "[owner: app (12)]" */
	/* of a group by lock or by holder: of single waits, how many they were, the longest, ns */
	uint64_t waits, longest;
	char *holders; /* of one by lock only: the first ones, "flusher (12) owner, …"; else null */
	uint64_t samples;     /* 0 with images and marks: not counted */
	uint64_t self, total; /* total: with all that an image called; else the same */
};

/* Sorted by self, then total, largest first; the sums of self are the tree's total. */
struct groups {
	struct group *at;
	size_t count, room;
};

/*
 * The groups of TREE_NOW of a tree that was summed up; none where its shape has none. The tree must
 * live as long as the result. Returns 0 or -ENOMEM; groups_free() is needed in either case.
 */
int groups_of(const struct tree *tree, const struct film *film, const struct flame *flame,
	      struct groups *groups);
void groups_free(struct groups *groups);

/* Fills what groups have of waits for locks. 0 or -ENOMEM. */
int groups_take_locks(struct groups *groups, const struct view *view);

#endif
