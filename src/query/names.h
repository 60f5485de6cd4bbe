/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_NAMES_H
#define QUERY_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "film/names.h"

/* A pool that owns strings. All zero is empty. */
struct name_pool {
	vec(char *) names;
};

/* A copy of s, which belongs to the pool. Null: no memory. */
const char *name_pool_add(struct name_pool *pool, const char *s);
void name_pool_free(struct name_pool *pool);

/*
 * The reason in a mark such as "[truncated: unreadable memory]", and its length; null: name is not
 * such a mark.
 */
const char *name_truncation(const char *name, size_t *length);

#endif
