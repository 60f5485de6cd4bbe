/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANE_THREADS_H
#define CAMERA_LANE_THREADS_H

#include "base/map.h"
#include "camera/source.h"

/*
 * The film's rows of threads that goroutines or tasks ran on, which their records name by number.
 * All zero: none is known. Another film: map_free().
 */
uint32_t lane_threads_row(struct map *known, const struct source *source, pid_t pid, pid_t tid);

#endif
