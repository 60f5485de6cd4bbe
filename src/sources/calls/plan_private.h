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

/* Nothing matches: fills *why with where it is, or what is near. Returns -ENOENT. */
int plan_no_match(struct plan *plan, const struct parts *parts, struct fail *why);

#endif
