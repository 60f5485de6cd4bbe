/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "symbol/batch.h"

/*
 * Names the questions of a batch that lie in an entry of the perf map behind fd. Returns 0; -E2BIG:
 * its entries overlap beyond all measure; -ENOMEM, or -errno of read().
 */
int perf_map_read(int fd, struct batch *batch);

#endif
