/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LAST_SCENE_H
#define QUERY_LAST_SCENE_H

#include "query/explain/explain.h"

/*
 * The last scenes of a film: the processes that a signal killed, with the last stack of each
 * thread, and what the threads did in the second before.
 */
#define LAST_SCENE_NS 1000000000ull

struct scene_thread {
	uint64_t time;		  /* death of the thread, by the film's clock */
	uint64_t ns[SLICE_KINDS]; /* the last second, by kind of slice */
	uint32_t thread, stack;	  /* the stack's leaf is the mark of the death */
	bool is_own;		  /* the signal was delivered to this thread */
};

struct scene {
	uint64_t time; /* death of its first thread */
	uint32_t process;
	vec(struct scene_thread) threads; /* in the order of death; the one with the signal first */
};

struct last_scenes {
	vec(struct scene) all; /* sorted by time */
};

enum {
	LAST_SCENES_MAX = 256, /* the rest is only in the film's event */
};

/*
 * Loads the scenes of the threads that a filter keeps; none if the film lacks the event. Returns 0
 * or a negative errno with *why filled; call last_scenes_free() in both cases.
 */
int last_scenes_load(struct last_scenes *scenes, struct explainer *e, const struct filter *filter,
		     struct fail *why);
void last_scenes_free(struct last_scenes *scenes);

/* The text of the mark without its brackets: "SIGSEGV at 0x18". */
void last_scene_words(const struct film *film, const struct scene_thread *thread, char *to,
		      size_t size);

#endif
