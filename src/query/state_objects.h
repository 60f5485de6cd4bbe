/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_STATE_OBJECTS_H
#define QUERY_STATE_OBJECTS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/objects.h"

/* How long the threads of each process waited for which object, and how often. */
struct state_object {
	struct slice like; /* one of the waits, by which it is described */
	uint32_t process;
	uint64_t count, total, longest;
};

/* state_objects_init() makes it empty. */
struct state_objects {
	vec(struct state_object) all; /* once sorted: the longest first */
	struct object_keys keys;
	struct map places; /* by all that tells objects apart, as a hash */
	uint64_t left;	   /* waits that had no room */
};

void state_objects_init(struct state_objects *objects, const struct film *film);

/* Adds a wait; another slice is not counted. False: no memory. */
bool state_objects_add(struct state_objects *objects, const struct film *film,
		       const struct slice *slice);
void state_objects_sort(struct state_objects *objects);
void state_objects_free(struct state_objects *objects);

#endif
