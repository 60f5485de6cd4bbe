/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_RDMA_LIBRARY_H
#define SOURCES_RDMA_LIBRARY_H

#include "sources/probed_images.h"

/*
 * The library of verbs, libibverbs. Its exported functions make contexts and queue pairs, by which
 * providers are found, and register memory. Programs call them seldom: posting and polling pass it
 * by.
 */

/* What the names of such libraries begin with, ending with a null. */
extern const char *const rdma_library_names[];

/* Of files that are such libraries. */
extern const struct probed_kind rdma_library_kind;

#endif
