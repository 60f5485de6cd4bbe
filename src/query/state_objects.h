/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_STATE_OBJECTS_H
#define QUERY_STATE_OBJECTS_H

#include "base/map.h"
#include "base/vec.h"
#include "query/objects.h"

/* The waits of each process's threads for one object. */
struct state_object {
	/* an example: the first wait that is known to be for a lock, else the first wait */
	struct slice like;
	struct slice_evidence evidence; /* of that one */
	uint32_t process;
	uint32_t held; /* index + 1 of its first holder; 0: none known */
	uint64_t count, total, longest;
};

/* A thread that held a lock while others waited for it. */
struct state_holder {
	uint32_t thread;
	uint32_t next; /* index + 1 of the object's next holder; 0: none */
	uint64_t count, total, longest;
	uint8_t sure; /* enum film_lock_holder */
};

/* Initialise it with state_objects_init(). */
struct state_objects {
	vec(struct state_object) all; /* after sorting: largest total first */
	/* after sorting: those of an object, largest total first */
	vec(struct state_holder) holders;
	struct object_keys keys;
	struct map places;     /* hash of what identifies an object -> index in all */
	struct map of_holders; /* the same for holders */
	uint64_t left;	       /* number of waits for which there was no room */
};

void state_objects_init(struct state_objects *objects, const struct film *film);

/* Adds a slice that is a wait. False: no memory. */
bool state_objects_add(struct state_objects *objects, const struct film *film,
		       const struct slice *slice, const struct slice_evidence *evidence);
/* Adds the objects of another one for the same film. False: no memory. */
bool state_objects_merge(struct state_objects *objects, const struct state_objects *other);
/* Sorts; call it after the last addition. False: no memory. */
bool state_objects_sort(struct state_objects *objects);
void state_objects_free(struct state_objects *objects);

#endif
