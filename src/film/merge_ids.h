/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_MERGE_IDS_H
#define FILM_MERGE_IDS_H

#include "base/map.h"
#include "base/vec.h"
#include "film/arena.h"
#include "film/intern.h"
#include "film/layout.h"
#include "film/reader.h"
#include "film/writer.h"

/*
 * Which row of the film that is made stands for which row of the film that is added: the same one
 * for things that are the same. Only merge.c uses it.
 */

/* A process or thread as the film has it, and the start of the machine in which it lived. */
struct merged_process {
	struct film_process row;
	uint64_t
		/* as its first film said: row.start is by the clock of the film that is made */
		started;
	uint32_t boot;
	uint32_t film; /* the last one that had such a row */
};

struct merged_thread {
	struct film_thread row;
	uint64_t started;
	uint32_t boot;
};

/* What stands for what of one film that is added: the id there is the index. */
struct merge_maps {
	int64_t shift; /* of its times */
	vec(uint32_t) event_of;
	vec(uint32_t) process_of;
	vec(uint32_t) thread_of;
	vec(uint32_t) image_of;
	vec(uint32_t) frame_of;
	vec(uint32_t) stack_of;
};

struct merge_ids {
	struct film_writer *to;
	struct arena texts;
	/* what is in it so far; the index is the id, 0 is unused */
	vec(struct film_event) events;
	vec(struct merged_process) processes;
	vec(struct merged_thread) threads;
	vec(struct film_image) images;
	vec(bool) named; /* by frame */
	struct intern process_index, thread_index, image_index;
	struct map frames;   /* hash of what a frame is -> its id */
	struct map variants; /* image << 32 | number -> another image like it */
	uint64_t last_place; /* addresses of frames of runtimes are just numbers */
	uint64_t refused;    /* frames that found no place */

	/* of the film that is added */
	struct film *from;
	uint32_t boot;
	uint32_t film; /* its number */
	struct merge_maps maps;
};

int merge_ids_init(struct merge_ids *ids, struct film_writer *to);

/* Fills the maps for a film. 0 or -ENOMEM. */
int merge_ids_add(struct merge_ids *ids, struct film *from, int64_t shift, uint32_t boot);
void merge_ids_free(struct merge_ids *ids);
void merge_maps_free(struct merge_maps *maps);
size_t merge_maps_bytes(const struct merge_maps *maps);

/* Whether they can be those of the film: ids of all that it has. */
bool merge_maps_fit(const struct merge_maps *maps, const struct film *film);

/*
 * The id there by the id here, of that table; null: no ids, or none that blocks of what was
 * observed have.
 */
const uint32_t *merge_ids_of(const struct merge_ids *ids, enum layout_table table);

/* A time of the film that is added, by the clock of the other; false: it cannot be told by it. */
static inline bool merge_time(const struct merge_ids *ids, uint64_t time, uint64_t *shifted)
{
	return !__builtin_add_overflow(time, ids->maps.shift, shifted);
}

#endif
