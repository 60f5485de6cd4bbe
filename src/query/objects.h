/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_OBJECTS_H
#define QUERY_OBJECTS_H

#include "query/slices.h"

/*
 * What a thread waited for, by name: the file, the two ends of the connection, the futex, the
 * child. Names are as the filmed programs gave them: escape them.
 */
enum object_known {
	OBJECT_KNOWN,
	OBJECT_NONE,	/* what it waited for has no object: time, work */
	OBJECT_UNKNOWN, /* it has one, which the film does not say; the words say why */
};

/* Of a slice that is a wait; words always end with a zero. */
enum object_known slice_object(const struct film *film, const struct slice *slice, char *words,
			       size_t size);

/* Numbers of system calls that tell of objects are below this. */
#define OBJECT_CALLS 1024

/* For many slices of one machine. */
struct object_keys {
	uint8_t arguments
		[OBJECT_CALLS]; /* by number and 1: bits of those that tell of the object */
};
void object_keys_init(struct object_keys *keys, const struct film *film);

/* What tells the object of a wait from those of other waits of the same class and process. */
uint64_t slice_object_key(const struct object_keys *keys, const struct slice *slice);

/* The name of a turn's object; "": there is none. */
const char *object_name(const struct film *film, uint32_t object);

/* The disk that it is on, as a file; "": none, or it is not known. */
static inline const char *object_disk(const struct film *film, uint32_t object)
{
	return film->frames[object].file;
}

#endif
