/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_TREE_H
#define QUERY_TREE_H

#include "query/flame.h"
#include "query/labels.h"
#include "query/view.h"

/*
 * Stacks merged from the root, the input of flames and tables of functions. Add one or two views
 * (the sides of a comparison), then sum up the tree.
 */
enum {
	/*
	 * room for a recorder's 8192 user frames, inlined and kernel frames, and groups, because
	 * the leaf, which says where time was spent, must not be left out
	 */
	TREE_DEPTH_MAX = 16384
};

/* The mark that replaces frames beyond TREE_DEPTH_MAX. */
#define TREE_TOO_DEEP NAME_TOO_DEEP

enum tree_side {
	TREE_NOW,
	TREE_BEFORE
};

struct tree_node {
	uint32_t parent, label;
	uint32_t first_child, next_sibling; /* set by tree_total(); 0: none */
	uint32_t group;			    /* index + 1 in the tree's groups; 0: none */
	uint16_t depth;
	bool guess, inlined;
	uint64_t self[2], total[2];
};

/* An innermost group of TREE_NOW: a process, or a thread if the shape has threads. */
struct tree_group {
	uint32_t node;
	/* ids in the film, of the first one with that name; thread may be 0 */
	uint32_t process, thread;
	uint64_t samples;
};

struct tree {
	struct shape shape;
	struct labels labels;
	vec(struct tree_node) nodes; /* nodes[0] is the root; parents precede children */
	struct map child_of;	     /* parent and label -> node */
	vec(struct tree_group) groups;
};

/* across_films: see struct labels. Returns 0 or -ENOMEM; call tree_free() in both cases. */
int tree_init(struct tree *tree, const struct shape *shape, bool across_films);
void tree_free(struct tree *tree);

/* The grouping that a view needs to be added to a tree of this shape. */
enum view_group tree_group(const struct shape *shape);

/*
 * Adds the weights of a view. A mark replaces frames beyond TREE_DEPTH_MAX and has their values.
 * Returns 0 or -ENOMEM.
 */
int tree_add(struct tree *tree, const struct view *view, enum tree_side side);

/*
 * The child of a node with a label, added if needed. inlined: whether it is inlined; a node counts
 * as inlined only if all additions are. 0: no memory.
 */
uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t label, bool inlined);

/* Computes totals, and links the children of each node in their present order. */
void tree_total(struct tree *tree);

/* The same, but sorts the children of each node by total, largest first. Returns 0 or -ENOMEM. */
int tree_sum(struct tree *tree);

#endif
