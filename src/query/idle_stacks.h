/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_IDLE_STACKS_H
#define QUERY_IDLE_STACKS_H

#include <stdint.h>

#include "film/reader.h"

/*
 * Stacks of threads that wait for work: workers of pools, and those that a language's runtime has
 * for its own ends. To the kernel, they wait for a condition as others do.
 */

/*
 * Adds WAIT_HAS_NO_WORK and WAIT_HAS_NO_WORK_UNTIMED (film/wait_rules.h) to stacks of a film.
 * frames: by stack. Returns 0 or -ENOMEM; then none is added.
 */
int idle_stacks_find(const struct film *film, uint8_t *frames);

#endif
