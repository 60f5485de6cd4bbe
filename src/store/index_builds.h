/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_INDEX_BUILDS_H
#define STORE_INDEX_BUILDS_H

#include "base/map.h"
#include "film/reader.h"

/*
 * Which build of its program each process of a film ran. A file that was replaced while it was
 * filmed has several images by one path; the ones that a process had mapped stand in its stacks.
 */
struct index_builds {
	struct map by_path; /* hash of an image's path to its id; 0: there are several builds */
	uint32_t *of;	    /* by process: its image; null: no path has several builds */
};

/* 0 or -ENOMEM; to be freed in either case. Walks the film's samples if it has to. */
int index_builds_find(struct index_builds *builds, struct film *film);
/* The image of a process's program in that film, or 0: not known. */
uint32_t index_builds_image(const struct index_builds *builds, const struct film *film,
			    const struct film_process *process);
void index_builds_free(struct index_builds *builds);

#endif
