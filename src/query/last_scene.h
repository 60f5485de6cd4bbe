/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LAST_SCENE_H
#define QUERY_LAST_SCENE_H

#include "query/explain/explain.h"

/*
 * The last scenes of a film: which processes died of a signal, with the last stack of each of their
 * threads, and what these did in the second before.
 */
#define LAST_SCENE_NS 1000000000ull

struct scene_thread {
	uint64_t time;		  /* of the film's clock: when it died */
	uint64_t ns[SLICE_KINDS]; /* of the second before, by what it did */
	uint32_t thread, stack; /* stack: as in the film; its last frame is the mark of the death */
	bool is_own;		/* it was delivered the signal */
};

struct scene {
	uint64_t time; /* of its first thread */
	uint32_t process;
	vec(struct scene_thread) threads; /* as they died: that with the signal first */
};

struct last_scenes {
	vec(struct scene) all; /* in the order of their time */
};

enum {
	LAST_SCENES_MAX =
		256, /* the first ones; of the rest nothing is said but in the film's event */
};

/*
 * Those of the threads that a filter keeps. 0 or a negative errno with *why filled; to be freed in
 * either case. A film without the event has none.
 */
int last_scenes_load(struct last_scenes *scenes, struct explainer *e, const struct filter *filter,
		     struct fail *why);
void last_scenes_free(struct last_scenes *scenes);

/* What the mark says, without its brackets: "SIGSEGV at 0x18". */
void last_scene_words(const struct film *film, const struct scene_thread *thread, char *to,
		      size_t size);

#endif
