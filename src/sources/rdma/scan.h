/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_RDMA_SCAN_H
#define SOURCES_RDMA_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/rdma/abi.h"

/*
 * Looks for contexts of devices and extended queue pairs in the memory of a process that has made
 * them before it was recorded. found() is called for each place that may be one, and says whether
 * it is. What is not in RAM is not read: that would bring it in, or wait for one that answers for
 * it (userfaultfd). Returns whether all of its own memory in RAM was read: false where that is more
 * than RDMA_SCAN_MAX bytes, or lies too far apart, or could not be read.
 */
#define RDMA_SCAN_MAX	(1ull << 30)
#define RDMA_SCAN_LOOKS (1ull << 24) /* pages, there or not: of 64 GB */

bool rdma_scan(pid_t pid, bool (*found)(void *context, const struct rdma_table *table),
	       void *context);

#endif
