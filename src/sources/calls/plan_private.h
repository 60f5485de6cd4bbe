/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_PLAN_PRIVATE_H
#define SOURCES_CALLS_PLAN_PRIVATE_H

/* What the files plan*.c share. */

#include "attach/parts.h"
#include "sources/calls/plan.h"

struct plan {
	struct plan_options options;
	struct choice *wanted; /* what the user chose */
	struct choice *wide;   /* and what switches tracing */
	struct choice *under, *start_on, *stop_on, *stack;
	struct symbols *symbols;
	vec(struct plan_image) images;
	vec(struct plan_function) functions;
	size_t limit, traceable;
	struct probe_left_out left_out;
	char *warning;
	bool calm; /* probe_is_calm() of all that the targets consist of */
};

const char *plan_base_name(const char *path);
struct symbol_image plan_symbol_image(const struct plan_image *image);
/*
 * Reads what the plan keeps of a file; owns fd from then on. Returns 1; 0: it is in the plan
 * already; a negative errno.
 */
int plan_describe(const struct plan *plan, int fd, const char *path, const char *root,
		  struct plan_image *image);

/* Numbers the functions of an image that is complete but for that, and owns it from then on. */
int plan_keep_image(struct plan *plan, struct plan_image *image, struct fail *why);

/* The libraries in which exceptions are caught, if a traced image has no place of its own. */
int plan_add_catchers(struct plan *plan, const struct parts *parts, struct fail *why);

/* Nothing matches: fills *why with where it is, or what is near. Returns -ENOENT. */
int plan_no_match(struct plan *plan, const struct parts *parts, struct fail *why);

#endif
