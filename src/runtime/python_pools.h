/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_PYTHON_POOLS_H
#define RUNTIME_PYTHON_POOLS_H

#include <stdint.h>

#include "process/resident.h"

/*
 * Is there a pool of CPython's small objects at this address, which is that of a page? Returns its
 * size in bytes, 0: there is none. *in_use: bytes of objects in it.
 */
uint64_t python_pool(struct resident *memory, uint64_t at, uint64_t *in_use);

#endif
