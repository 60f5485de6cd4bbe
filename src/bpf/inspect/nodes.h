/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_NODES_H
#define BPF_INSPECT_NODES_H

/*
 * Steps that need more than one pointer: nodes that lead to each other, which become one item, so
 * that they are elements one behind the other for all that comes later; and words that are computed
 * or found at the end of several pointers.
 */
#include "bpf/capture/capture.h"
#include "bpf/inspect/abi.h"
#include "bpf/inspect/items.h"

/* A node of a tree takes a few moves: there are no more on the way to the next one on average. */
#define NODES_MOVES (INSPECT_NODES_MAX * 8)

struct nodes {
	struct inspect_scratch *s;
	const struct inspect_step *step;
	__u64 pointer; /* where the walk is */
	__u32 at;      /* where its bytes go */
	__u32 left;    /* nodes that are still wanted */
	__u32 status;
	enum {
		NODES_READ,
		NODES_DOWN, /* to the first one of what is below */
		NODES_UP,   /* to the first one above that is behind this one */
	} mode;
};

/* Copies a node; where the walk goes on, its pointers say. False: that is where it ends. */
static __always_inline bool read_node(struct nodes *n)
{
	__u32 size = n->step->size & (INSPECT_READ_MAX - 1), at = n->at & BYTES_MASK;
	__u64 next;

	if (n->at + size > INSPECT_BYTES_MAX - 8) {
		n->status = INSPECT_FULL;
		return false;
	}
	if (bpf_probe_read_user(&n->s->bytes[at], size, (const void *)n->pointer)) {
		n->status = INSPECT_NOT_RESIDENT;
		return false;
	}
	if (n->step->kind == INSPECT_CHAIN) {
		n->pointer = *(__u64 *)&n->s->bytes[(at + n->step->displacement) & BYTES_MASK];
	} else {
		next = *(__u64 *)&n->s->bytes[(at + n->step->displacement + 8) & BYTES_MASK];
		n->mode = next ? NODES_DOWN : NODES_UP;
		if (next)
			n->pointer = next;
	}
	n->at += size;
	n->left--;
	return true;
}

static long move_node(__u32 i, void *context)
{
	struct nodes *n = context;
	__u64 node = n->pointer, next = 0, right = 0;

	(void)i;
	if (!n->left || !node)
		return 1;
	if (n->mode == NODES_READ)
		return !read_node(n);
	if (n->mode == NODES_DOWN) {
		if (bpf_probe_read_user(&next, 8, (const void *)(node + n->step->displacement)))
			goto lost;
		if (next)
			n->pointer = next;
		else
			n->mode = NODES_READ;
		return 0;
	}
	if (bpf_probe_read_user(&next, 8, (const void *)(node + n->step->width)) ||
	    bpf_probe_read_user(&right, 8, (const void *)(next + n->step->displacement + 8)))
		goto lost;
	n->pointer = next;
	if (right != node)
		n->mode = NODES_READ;
	return 0;
lost:
	n->status = INSPECT_NOT_RESIDENT;
	return 1;
}

static __noinline int read_nodes(struct inspect_scratch *s, const struct inspect_step *step)
{
	struct nodes n = {s,	     step,	 0,	    s->used + sizeof(struct inspect_item),
			  step->max, INSPECT_OK, NODES_READ};
	struct inspect_item *item;
	__u64 length = 0;

	if (!word_of(s, step, step->offset, 8, &n.pointer) ||
	    (!(step->flags & INSPECT_NO_LENGTH) && !word_of(s, step, step->length_at, 8, &length)))
		return 0;
	item = begin_item(s, 0, n.pointer);
	if (!item)
		return 0;
	if (!(step->flags & INSPECT_NO_LENGTH) && length < n.left)
		n.left = length;
	bpf_loop(NODES_MOVES, move_node, &n, 0);
	item->length = length;
	item->status = n.status;
	if (n.status == INSPECT_OK && !n.left &&
	    (step->flags & INSPECT_NO_LENGTH ? n.pointer != 0 : length > step->max))
		item->status = INSPECT_TRUNCATED;
	end_item(s, item, n.at - s->used - sizeof(*item));
	return 0;
}

static __noinline int read_word(struct inspect_scratch *s, const struct inspect_step *step)
{
	__u64 word = 0, by = 0;
	struct inspect_item *item;
	__u32 i, used = s->used & BYTES_MASK;

	if (!word_of(s, step, step->offset, 8, &word) || !word_of(s, step, step->length_at, 8, &by))
		return 0;
	item = begin_item(s, 0, word);
	if (!item)
		return 0;
	if (step->kind == INSPECT_SUM) {
		word += by * step->size + (__s64)step->displacement;
	} else if (by > INSPECT_DESCEND_MAX) {
		item->status = INSPECT_NOT_RESIDENT;
	} else {
		for (i = 0; i < INSPECT_DESCEND_MAX && i < by; i++) {
			if (bpf_probe_read_user(&word, 8,
						(const void *)(word + (__s64)step->displacement))) {
				item->status = INSPECT_NOT_RESIDENT;
				break;
			}
		}
	}
	*(__u64 *)&s->bytes[(used + sizeof(*item)) & BYTES_MASK] = word;
	end_item(s, item, item->status == INSPECT_OK ? 8 : 0);
	return 0;
}

#endif
