/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LABELS_H
#define QUERY_LABELS_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "film/reader.h"
#include "query/names.h"
#include "query/question.h"

/* What makes two frames the same in an answer. */
struct label {
	const char *name, *image; /* as in struct flame_node */
	const struct film_image
		*of_image; /* for a frame without a name: whose build id tells it apart */
	unsigned int kind;
	const char *file; /* "" unless lines are asked for */
	uint32_t line;
	uint32_t next; /* label plus one with the same hash */
};

/*
 * The labels of one answer, numbered from 0, with the strings made for them. Labels of several
 * films can share one table; the films must live as long.
 */
struct labels {
	const struct shape *shape;
	bool across_films; /* an image is known by the last part of its path, a group by its name */
	vec(struct label) all;
	struct map by_hash;
	struct name_pool names;
};

/* One frame of a stack as it is shown: a label, and whether it was inlined there. */
struct label_use {
	uint32_t label;
	bool inlined;
};

/* The frames of one film as labels, made when first asked for. */
struct frame_labels {
	struct labels *labels;
	const struct film *film;
	struct frame_run {
		uint32_t first, count; /* in uses, outermost first; count 0: not yet made */
	} * runs;
	vec(struct label_use) uses;
};

#define LABEL_NONE UINT32_MAX

/* The label of that content, or LABEL_NONE: no memory. label's strings must outlive the table. */
uint32_t label_intern(struct labels *labels, const struct label *label);

/* As label_intern(), for a group or a mark of our own; name is copied. */
uint32_t label_intern_name(struct labels *labels, const char *name, unsigned int kind);

/* Of a frame of which only the image is known. */
uint32_t label_of_image(struct labels *labels, const struct film_image *image);

void labels_free(struct labels *labels);

/* Returns 0 or -ENOMEM. */
int frame_labels_init(struct frame_labels *fl, struct labels *labels, const struct film *film);
void frame_labels_free(struct frame_labels *fl);

/* The labels that one frame of the film stands for, at least one; null: no memory. */
const struct label_use *frame_labels_of(struct frame_labels *fl, uint32_t frame, uint32_t *count);

#endif
