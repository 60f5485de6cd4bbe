/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_OBJECTS_H
#define QUERY_OBJECTS_H

#include "query/slices.h"

/*
 * Names the object of a wait: the file, both ends of the connection, the futex, the child. Names
 * come from the recorded programs: escape them.
 */
enum object_known {
	OBJECT_KNOWN,
	OBJECT_NONE,	/* the wait has no object: for time, for work */
	OBJECT_UNKNOWN, /* the film does not have the object; the text says why */
};

/*
 * Formats the object of a slice that is a wait. The text is always terminated. evidence may be
 * null, as for a slice of histories: the slice says all, but for a lock.
 */
enum object_known slice_object(const struct film *film, const struct slice *slice,
			       const struct slice_evidence *evidence, char *words, size_t size);

/* System calls with known objects have numbers below this. */
#define OBJECT_CALLS 1024

/* A table for the slices of one machine. */
struct object_keys {
	/* by system call number + 1: set of arguments that identify the object */
	uint8_t arguments[OBJECT_CALLS];
};
void object_keys_init(struct object_keys *keys, const struct film *film);

/* A key that distinguishes the objects of waits of the same class and process; as above. */
uint64_t slice_object_key(const struct object_keys *keys, const struct slice *slice,
			  const struct slice_evidence *evidence);

/* The name of a turn's object; "": there is none. */
const char *object_name(const struct film *film, uint32_t object);

/* The disk that it is on, as a file; "": none, or it is not known. */
static inline const char *object_disk(const struct film *film, uint32_t object)
{
	return film->frames[object].file;
}

#endif
