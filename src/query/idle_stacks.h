/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_IDLE_STACKS_H
#define QUERY_IDLE_STACKS_H

#include <stdint.h>

#include "film/reader.h"

/*
 * Finds stacks of threads that wait for work: pool workers, and threads of a language's runtime.
 * The kernel cannot distinguish them from other waits for a condition.
 */

/*
 * Sets WAIT_HAS_NO_WORK and WAIT_HAS_NO_WORK_UNTIMED (film/wait_rules.h) in frames, which is
 * indexed by stack. Returns 0, or -ENOMEM: then nothing is set.
 */
int idle_stacks_find(const struct film *film, uint8_t *frames);

#endif
