/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_NAMES_H
#define QUERY_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "film/reader.h"

/* What stands where nothing is known: no frame of a sample, no name of a thread. */
#define NAME_UNKNOWN "[unknown]"

/* Strings that live as long as their pool. All zero is empty. */
struct name_pool {
	vec(char *) names;
};

/* A copy of s, or null: no memory. */
const char *name_pool_add(struct name_pool *pool, const char *s);
void name_pool_free(struct name_pool *pool);

/* The last part of a path, in place: "libc.so.6" of "/lib/libc.so.6"; "[unknown]" for "". */
const char *name_of_image(const char *path);

/*
 * What a frame is called that has no function: "libc.so.6+0x1230", where its code begins if that is
 * known, else its own address; or "[jit]". Longer image names than fit are cut. Returns to.
 */
const char *name_of_place(const struct film *film, const struct film_frame *frame, char *to,
			  size_t size);

/*
 * The reason of a mark such as "[truncated: unreadable memory]", with its length, or null when name
 * is no such mark.
 */
const char *name_truncation(const char *name, size_t *length);

#endif
