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
 * it is. Returns whether all of its own memory was read: false where it is larger than
 * RDMA_SCAN_MAX bytes, or could not be read.
 */
#define RDMA_SCAN_MAX (1ull << 30)

bool rdma_scan(pid_t pid, bool (*found)(void *context, const struct rdma_table *table),
	       void *context);

#endif
