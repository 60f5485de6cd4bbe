/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LEVEL_H
#define QUERY_LEVEL_H

#include "base/fail.h"
#include "film/reader.h"

/*
 * Levels, such as bytes in use, are not summed over time: of a range counts the last state in it. A
 * state of a process is what was reported at one moment, a sample for each stack.
 */

/*
 * For each process of the film, the time of the last of its samples in [from, to), 0: there is
 * none. Those of the same number and name are one, as services that push without a number are
 * another process each time. To be freed; null with *why filled: the film cannot be read, or memory
 * ran out.
 */
uint64_t *level_last(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     struct fail *why);

#endif
