/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_TREE_H
#define QUERY_TREE_H

#include "query/flame.h"
#include "query/labels.h"
#include "query/view.h"

/*
 * Stacks merged from the root: what flames and tables of functions are made of. One or two views
 * are added (the sides of a comparison), then the tree is summed up.
 */
enum {
	/*
	 * a recorder's 8192 frames of user space, and what is inlined, the kernel's and groups
	 * beside them: a leaf, which says where time was spent, must not be what is left out
	 */
	TREE_DEPTH_MAX = 16384
};

/* The mark that stands for frames beyond TREE_DEPTH_MAX. */
#define TREE_TOO_DEEP NAME_TOO_DEEP

enum tree_side {
	TREE_NOW,
	TREE_BEFORE
};

struct tree_node {
	uint32_t parent, label;
	uint32_t first_child, next_sibling; /* set by tree_total(); 0: none */
	uint32_t group; /* a number of the tree's groups plus one; 0: it is none */
	uint16_t depth;
	bool guess, inlined;
	uint64_t self[2], total[2];
};

/* An innermost group of TREE_NOW: a process or, where the shape has them, a thread. */
struct tree_group {
	uint32_t node;
	uint32_t process,
		thread; /* ids in the film, of the first that is called so; thread may be 0 */
	uint64_t samples;
};

struct tree {
	struct shape shape;
	struct labels labels;
	vec(struct tree_node) nodes; /* nodes[0] is the root; parents before children */
	struct map child_of;	     /* by parent and label */
	vec(struct tree_group) groups;
};

/* across_films: as in struct labels. Returns 0 or -ENOMEM; tree_free() is needed in either case. */
int tree_init(struct tree *tree, const struct shape *shape, bool across_films);
void tree_free(struct tree *tree);

/* The group that a view must have so that it can be added to a tree of this shape. */
enum view_group tree_group(const struct shape *shape);

/*
 * Adds the weights of a view. Frames beyond TREE_DEPTH_MAX are not shown, what was spent in them
 * stands in a mark of that depth. Returns 0 or -ENOMEM.
 */
int tree_add(struct tree *tree, const struct view *view, enum tree_side side);

/*
 * The child of that label, made if it is not there; inlined: whether it was, all the times it came.
 * 0: no memory.
 */
uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t label, bool inlined);

/* Sums up, and links the children of each node in the order in which they stand. */
void tree_total(struct tree *tree);

/* The same, and sorts the children of each node by total, largest first. Returns 0 or -ENOMEM. */
int tree_sum(struct tree *tree);

#endif
