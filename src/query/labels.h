/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LABELS_H
#define QUERY_LABELS_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "film/reader.h"
#include "query/names.h"
#include "query/question.h"

/* The identity of a frame in a result: frames with equal labels are merged. */
struct label {
	const char *name, *image; /* as in struct flame_node */
	/* for a frame without a name: the image whose build id distinguishes it */
	const struct film_image *of_image;
	unsigned int kind;
	const char *file; /* "" unless lines were requested */
	uint32_t line;
	uint32_t next; /* next label + 1 with the same hash */
};

/*
 * The labels of one result, numbered from 0, and their strings. Labels of several films can share
 * one table; the films must outlive it.
 */
struct labels {
	const struct shape *shape;
	bool across_films; /* compare images by file name, and groups by name */
	vec(struct label) all;
	struct map by_hash;
	struct name_pool names;
};

/* A displayed frame of a stack: a label, and whether it was inlined there. */
struct label_use {
	uint32_t label;
	bool inlined;
};

/* The labels of a film's frames, created when first requested. */
struct frame_labels {
	struct labels *labels;
	const struct film *film;
	struct frame_run {
		uint32_t first, count; /* in uses, outermost first; count 0: not created yet */
	} * runs;
	vec(struct label_use) uses;
};

#define LABEL_NONE UINT32_MAX

/*
 * The number of the label with that content; LABEL_NONE: no memory. Its strings must outlive the
 * table.
 */
uint32_t label_intern(struct labels *labels, const struct label *label);

/* As label_intern(), for a group or a mark; name is copied. */
uint32_t label_intern_name(struct labels *labels, const char *name, unsigned int kind);

/* The label of a frame of which only the image is known. */
uint32_t label_of_image(struct labels *labels, const struct film_image *image);

void labels_free(struct labels *labels);

/* Returns 0 or -ENOMEM. */
int frame_labels_init(struct frame_labels *fl, struct labels *labels, const struct film *film);
void frame_labels_free(struct frame_labels *fl);

/* The labels of one frame (several if calls were inlined), at least one; null: no memory. */
const struct label_use *frame_labels_of(struct frame_labels *fl, uint32_t frame, uint32_t *count);

#endif
