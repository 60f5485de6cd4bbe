/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_PROBED_IMAGES_H
#define SOURCES_PROBED_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/vec.h"
#include "sources/probed_files.h"
#include "process/image.h"

/*
 * The files of one kind that a source probes: interpreters, JVMs, programs of Go. Each file is
 * looked at once. What was found out then, its facts, stays as long as the source does.
 */

/* A file that is looked at. */
struct probed_look {
	const struct image *image;
	uint32_t number; /* that it gets */
	void *facts;	 /* to be filled; all zero */
	vec(struct uprobe_place) places;
};

struct probed_kind {
	size_t size;	      /* of the facts of a file, in bytes */
	size_t most;	      /* files */
	const char *too_many; /* "too many interpreters" */
	bool keep;	      /* processes without probes of their own are kept, too */
	/*
	 * Returns 0 with the facts and places filled; -ENOENT: the file is none of the kind, or
	 * needs no probes; another negative errno with *why filled: it cannot be followed.
	 */
	int (*look)(struct probed_look *look, struct fail *why);
	/* Its probes are set now: changes what of the facts depends on that. Null: nothing does. */
	void (*probed)(void *facts);
	void (*free)(void *facts); /* after look() has returned 0; null: there is nothing to free */
	size_t shared;		   /* where the facts have what the kernel's side knows of them */
};

struct probed_images {
	const struct probed_kind *kind;
	struct probed_files files;
	vec(struct probed_known {
		void *facts;
		struct uprobe_place *places;
		size_t place_count;
	}) known; /* of each file, by its number */
	int map;
	struct probed_refused refused;
};

/* Adds a place to those of a file. False: no memory. */
bool probed_look_add(struct probed_look *look, uint64_t offset, uint32_t group, uint64_t cookie,
		     bool is_end);

/*
 * map: of what the kernel's side knows of each file, by its number; -1: there is none. bind: each
 * process has probes of its own, where the kernel can; else a file is probed wherever it runs.
 * Returns 0 or a negative errno.
 */
int probed_images_new(const struct probed_kind *kind, struct bpf_program *site, int map, bool bind,
		      struct probed_images **result);
/* Takes the probes away. Null is allowed in both. */
void probed_images_detach(struct probed_images *images);
void probed_images_free(struct probed_images *images);

/*
 * A process maps an image, whose state becomes *state (enum source_image). Returns the number of
 * the file; -1: it is none of the kind, or is not followed.
 */
int probed_images_meet(struct probed_images *images, pid_t pid, const struct image *image,
		       unsigned int *state);
void probed_images_ended(struct probed_images *images, pid_t pid);

/* What is known of the file of that number; null: there is none. */
const void *probed_images_facts(const struct probed_images *images, uint32_t number);
/* Calls each() for every process that runs a file, and the number of that file. */
void probed_images_each(const struct probed_images *images,
			void (*each)(void *context, pid_t pid, uint32_t file), void *context);
static inline bool probed_images_has(const struct probed_images *images, pid_t pid)
{
	return probed_files_has(&images->files, pid);
}

#endif
