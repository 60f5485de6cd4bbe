/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_MERGING_H
#define FILM_MERGING_H

#include "base/vec.h"
#include "film/arena.h"
#include "film/merge.h"
#include "film/merge_ids.h"
#include "film/schema.h"

/*
 * What merge.c (films that are added one by one) and merge_files.c (those of which all are known)
 * share.
 */

struct merged_loss {
	uint32_t event;
	const char *reason;
	uint64_t count;
};

struct film_merge {
	char *path;
	const char *labels;	/* of the film that is made; null: those of the films */
	struct film_writer *to; /* null: nothing was added yet */
	struct merge_ids ids;
	struct film_info info; /* of the first film, its times and cpus of all */
	struct arena texts;    /* of info */
	vec(int64_t) boots;    /* the latest offset of each */
	bool one_clock;	       /* all are of one start of the machine */
	bool is_only;	       /* only one film is added */
	bool is_final;	       /* the film is not expected to be merged again */
	vec(struct merged_loss) losses;

	/* of the film that is added */
	uint32_t event;		   /* its new id, */
	enum film_block_kind kind; /* and the kind of blocks at hand: */
	vec(uint8_t) rows;	   /* those of a block */
	vec(uint64_t) numbers;	   /* one of its columns */
	struct fail *why;
};

/* Writes what is there, and waits for the disk. 0 or a negative errno with merge->why filled. */
int merge_commit(struct film_merge *merge);

/* Adds what a film says except its blocks; its maps are in merge->ids. As film_merge_add(). */
int merge_add_tables(struct film_merge *merge, struct film *film, struct fail *why);

/* Adds the blocks of a film by the maps in merge->ids; merge->why is set. As film_merge_add(). */
int merge_add_blocks(struct film_merge *merge, struct film *film);

#endif
