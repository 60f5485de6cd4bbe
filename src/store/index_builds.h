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
	uint32_t processes, images; /* how many of the film's are known */
	uint64_t blocks;	    /* how many of its blocks were walked through */
};

/*
 * Begins with a value that is all zero; of a film that has grown since (film_catch_up()) it goes on
 * with what it knows. 0 or -ENOMEM; to be freed in either case. Walks the film's samples if it has
 * to, of a film that grows those of its new blocks.
 */
int index_builds_find(struct index_builds *builds, struct film *film);
/* The image of a process's program in that film, or 0: not known. */
uint32_t index_builds_image(const struct index_builds *builds, const struct film *film,
			    const struct film_process *process);
/* Makes it all zero. */
void index_builds_free(struct index_builds *builds);

#endif
