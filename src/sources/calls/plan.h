/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_CALLS_PLAN_H
#define SOURCES_CALLS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/vec.h"
#include "sources/calls/called.h"
#include "probe/functions.h"
#include "process/image.h"
#include "process/select.h"

/*
 * Which functions of which files are to be traced: those of the programs that a selection names,
 * and of the libraries that were asked for. Nothing is probed here. Images that appear later are
 * added.
 */
struct plan;

/* One of -f, --no-function, -l, --no-lib, in their order. */
struct plan_pattern {
	bool include, is_library;
	const char *text;
};

struct plan_options {
	const struct selection *selection;
	const struct plan_pattern *patterns;
	size_t pattern_count;
	const char *const *inside; /* --inside: globs on file names of libraries */
	size_t inside_count;
	enum probe_exit_wish exit;
	/* patterns whose functions switch tracing; null: none */
	const char *under, *start_on, *stop_on;
	const char
		*stack;	 /* a pattern: functions of which the callers' stack is taken; null: none */
	bool no_guard;	 /* return probes cannot be left out call by call (before 6.13) */
	bool only_files; /* no functions: the caller looks for what it wants in the files */
	bool stays;	 /* probes of entries do not move to cheaper places (probe/functions.h) */
	bool refused_too; /* keep what was meant but cannot be traced, to list it */
	size_t limit;	  /* the most functions; 0: the default, 50,000 */
};

/* A file that holds traced functions. */
struct plan_image {
	int fd;	    /* open for reading: /proc/self/fd/FD is the way to it */
	char *path; /* as the target sees it */
	char *root; /* "" or "/proc/PID/root" */
	uint8_t build_id[IMAGE_BUILD_ID_MAX];
	uint32_t build_id_size;
	dev_t device;
	ino_t inode;
	bool is_program; /* else a library */
	bool is_called;	 /* a library: only the calls that programs make into it */
	/* a library in which those catch exceptions that have no stub for it */
	bool is_catcher;
	struct probe_functions functions;
	struct called_names names; /* of some of them */
	uint32_t first;		   /* number of its first function in the plan */
};

/* A function of the plan. Its number is its place. */
struct plan_function {
	uint32_t image;
	const struct probe_function *probe;
	uint32_t flags; /* CALLS_FUNCTION_… for its cookie */
	/* a stub that is not probed: what it calls is, in its library (sources/calls/called.h) */
	bool is_moved;
};

/*
 * Finds what the selection names, now. Returns 0 or a negative errno with *why filled: -ENOENT: no
 * function matches (the words name near ones), and none can come later; -E2BIG: too many do.
 */
int plan_new(const struct plan_options *options, struct plan **plan, struct fail *why);
void plan_free(struct plan *plan);

/*
 * What must be said although it is not a failure: a danger, or that nothing matches yet. Null:
 * nothing.
 */
const char *plan_warning(const struct plan *plan);

/*
 * What matches by its name, so far, and is left out, since it cannot be traced. Its strings live as
 * long as the plan.
 */
const struct probe_left_out *plan_left_out(const struct plan *plan);

/*
 * A file has been mapped by a target. If it is new and concerns the plan, its functions are added:
 * *added is its number, else UINT32_MAX. is_program: the process runs it.
 */
int plan_add_image(struct plan *plan, const struct image *image, bool is_program, uint32_t *added);

/* The number of the image that lies in this file; UINT32_MAX: it is not in the plan. */
uint32_t plan_find(const struct plan *plan, const struct image *image);

/*
 * Where a traced image calls what begins to catch an exception, or defines it: *site is its entry,
 * with the stack pointer of the function that catches above it. False: nowhere that is known.
 */
bool plan_find_catch(const struct plan *plan, const struct plan_image *image,
		     struct probe_site *site);

/* Can what is meant still come: by a program that a target executes, or a library that it opens? */
bool plan_may_grow(const struct plan *plan);

/* The most functions that it will ever have. */
size_t plan_limit(const struct plan *plan);

const struct plan_image *plan_images(const struct plan *plan, size_t *count);
const struct plan_function *plan_functions(const struct plan *plan, size_t *count);

#endif
