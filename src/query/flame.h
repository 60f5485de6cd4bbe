/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FLAME_H
#define QUERY_FLAME_H

#include <stdbool.h>
#include <stdint.h>

#include "query/labels.h"

/*
 * The result behind flame graphs, trees and folded text: all stacks merged from the root. nodes[0]
 * is the root; parents precede their children; siblings are sorted by total, largest first, unless
 * a function says otherwise. self is what was spent in the node itself; total is exactly self plus
 * the children's totals.
 */
struct flame_node {
	uint32_t parent, first_child, next_sibling; /* 0: none */
	const char *name;			    /* as in the film: hostile, escape it */
	const char *image;			    /* path of the image; "" for groups and marks */
	unsigned int kind; /* enum film_frame_kind; 0: the root, or a group (process, thread) */
	bool guess;	   /* some samples are here by a guess (frame pointer) */
	bool inlined;
	const char *file; /* with --lines, else "" */
	uint32_t line;
	uint64_t self, total;
	/*
	 * In a diff: the values of the other (earlier) film, scaled to this film's total. Else 0.
	 */
	uint64_t before_self, before_total;
};

struct flame {
	struct flame_node *nodes;
	uint32_t count;
	/*
	 * Number of nodes that were left out because they would not be shown. The self value of a
	 * node without children may belong to such nodes.
	 */
	uint32_t left_out;
	bool is_diff;
	const char *event; /* "on-cpu" */
	const char *unit;  /* "ns", "bytes", "count" */
	const char *title; /* e.g. "on-cpu, 10.0 s on host7, 2026-11-21 14:32:08" */
};

/* Frees the nodes. The strings belong to the result that the flame comes from. */
void flame_free(struct flame *flame);

/*
 * Returns the next node in depth-first order, and updates *depth. Start with node 0 (the root) and
 * depth 0; after the last node it returns 0.
 */
uint32_t flame_next(const struct flame *flame, uint32_t node, uint32_t *depth);

/*
 * Numbers the distinct labels of a flame's nodes. *label_of gets a label per node, which the caller
 * frees; the root has no label (its entry is undefined). labels must be all zero; its strings
 * belong to the flame. Returns 0 or -ENOMEM; call labels_free() in both cases.
 */
int flame_labels(const struct flame *flame, struct labels *labels, uint32_t **label_of);

#endif
