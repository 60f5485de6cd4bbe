/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_ROLES_H
#define QUERY_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include "film/reader.h"
#include "film/roles.h"

/* The roles of the functions on a film's stacks, and of its threads. All zero: no roles. */
struct roles {
	uint32_t *of_stack, *of_thread; /* by id: set of enum film_role; or null */
};

/* A set of roles as films have them: bit n for n of enum film_role. */
#define ROLES_ALL (~0u)

static inline uint32_t roles_bit(enum film_role role)
{
	return 1u << role;
}

/*
 * Which of a set of roles each frame of a film has, with the functions that were inlined there;
 * each function, each image, or each thread by its name; by id, to be freed. Returns 0, or -ENOMEM:
 * null.
 */
int roles_of_frames(const struct film *film, uint32_t roles, uint32_t **frames);
int roles_of_functions(const struct film *film, uint32_t roles, uint32_t **functions);
int roles_of_images(const struct film *film, uint32_t roles, uint32_t **images);
int roles_of_threads(const struct film *film, uint32_t roles, uint32_t **threads);

/* Returns 0 or -ENOMEM; call roles_free() in both cases. */
int roles_init(struct roles *roles, const struct film *film);
void roles_free(struct roles *roles);

/* Whether a function on a stack has a role. */
static inline bool roles_has(const struct roles *roles, uint32_t stack, enum film_role role)
{
	return roles->of_stack && roles->of_stack[stack] >> role & 1;
}

/* Whether a thread has a role by its name. */
static inline bool roles_of_thread_has(const struct roles *roles, uint32_t thread,
				       enum film_role role)
{
	return roles->of_thread && roles->of_thread[thread] >> role & 1;
}

#endif
