/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FLAME_H
#define QUERY_FLAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The answer that flame graphs, trees and folded text show: all stacks merged from the root.
 * nodes[0] is the root, it stands for everything; parents come before their children; siblings are
 * sorted by total, largest first, unless it is said that they are not. self is what was spent in
 * the node itself; total is self plus the children's totals, exactly.
 */
struct flame_node {
	uint32_t parent, first_child, next_sibling; /* 0: none */
	const char *name;			    /* as in the film: hostile, escape it */
	const char *image;			    /* path of the image, "" for groups and marks */
	unsigned int kind; /* enum film_frame_kind; 0: the root, or a group (process, thread) */
	bool guess;	   /* some samples came here by a guess (frame pointer) */
	bool inlined;
	const char *file; /* with --lines, else "" */
	uint32_t line;
	uint64_t self, total;
	/* In a diff: the same of the other (earlier) film, scaled to this film's total. Else 0. */
	uint64_t before_self, before_total;
};

struct flame {
	struct flame_node *nodes;
	uint32_t count;
	/*
	 * Nodes that are not there, as others that are will not be shown either: what a node
	 * without children has in itself may have been spent in these.
	 */
	uint32_t left_out;
	bool is_diff;
	const char *event; /* "on-cpu" */
	const char *unit;  /* "ns", "bytes", "count" */
	const char *title; /* e.g. "on-cpu, 10.0 s on host7, 2026-11-21 14:32:08" */
};

/* Frees the nodes; the strings belong to the answer that the flame came from. */
void flame_free(struct flame *flame);

/*
 * Walks all nodes depth first, from the root: start with node 0 and depth 0; the node after the
 * last is 0. depth follows along, the root's is 0.
 */
uint32_t flame_next(const struct flame *flame, uint32_t node, uint32_t *depth);

#endif
