/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_STATE_OBJECTS_H
#define QUERY_STATE_OBJECTS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/objects.h"

/* How long the threads of each process waited for which object, and how often. */
struct state_object {
	/* the first of the waits, or of those that are known to be for a lock, if any is */
	struct slice like;
	uint32_t process;
	uint32_t held; /* place of the first of its holders, and 1; 0: none is known */
	uint64_t count, total, longest;
};

/* A thread that held a lock while others waited for it. */
struct state_holder {
	uint32_t thread;
	uint32_t next; /* place of the next one of the object, and 1; 0 */
	uint64_t count, total, longest;
	uint8_t sure; /* enum film_lock_holder */
};

/* state_objects_init() makes it empty. */
struct state_objects {
	vec(struct state_object) all;	  /* once sorted: the longest first */
	vec(struct state_holder) holders; /* once sorted, those of an object: the longest first */
	struct object_keys keys;
	struct map places;     /* by all that tells objects apart, as a hash */
	struct map of_holders; /* the same of holders */
	uint64_t left;	       /* waits that had no room */
};

void state_objects_init(struct state_objects *objects, const struct film *film);

/* Adds a slice that is a wait. False: no memory. */
bool state_objects_add(struct state_objects *objects, const struct film *film,
		       const struct slice *slice);
/* Adds what another one has, of the same film. False: no memory. */
bool state_objects_merge(struct state_objects *objects, const struct state_objects *other);
/* All are added. False: no memory. */
bool state_objects_sort(struct state_objects *objects);
void state_objects_free(struct state_objects *objects);

#endif
