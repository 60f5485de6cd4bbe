/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_IDLE_STACKS_H
#define QUERY_IDLE_STACKS_H

#include <stdint.h>

#include "query/roles.h"

/*
 * Finds stacks of threads that wait for work: pool workers, and threads of a language's runtime.
 * The kernel cannot distinguish them from other waits for a condition; functions on their stacks
 * can, by the roles that the film gives them.
 */

/* The roles that are needed for that. */
#define IDLE_STACKS_ROLES                                                                         \
	(1u << FILM_ROLE_GETS_WORK | 1u << FILM_ROLE_WORK_LOOP | 1u << FILM_ROLE_BARE_WORK_LOOP | \
	 1u << FILM_ROLE_AWAITS)

/*
 * Sets WAIT_HAS_NO_WORK and WAIT_HAS_NO_WORK_UNTIMED (film/wait_rules.h) in stacks, which is
 * indexed by stack; roles: of the film's frames (roles_of_frames()). Returns 0, or -ENOMEM: then
 * nothing is set.
 */
int idle_stacks_find(const struct film *film, const uint32_t *roles, uint8_t *stacks);

#endif
