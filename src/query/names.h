/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_NAMES_H
#define QUERY_NAMES_H

#include <stdbool.h>
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

enum {
	NAME_CPU_SIZE = 32 /* bytes of a mark that names a CPU */
};

/*
 * Formats the mark of a CPU, as struct film_sample has it: "[CPU 3]" for 4, "[unknown CPU]" for 0.
 * Returns to.
 */
const char *name_of_cpu(uint32_t cpu, char to[NAME_CPU_SIZE]);

/* The number of the CPU that such a mark names. False: it names none. */
bool name_cpu_number(const char *name, uint32_t *number);

/*
 * The reason in a mark such as "[truncated: unreadable memory]", and its length; null: name is not
 * such a mark.
 */
const char *name_truncation(const char *name, size_t *length);

#endif
