/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_VTHREADS_NAME_H
#define SOURCES_LANES_VTHREADS_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/lanes/vthreads_abi.h"

/* Enough for any: each byte of Latin 1 takes two at most. */
#define VTHREADS_NAME_TEXT_MAX (2 * VTHREADS_NAME_MAX + 1)

/*
 * What a virtual thread is called. name: as it was read from its process, in Latin 1, with or
 * without a zero byte behind it; null: not known. One that has no name, or one with characters that
 * control something, is called by its number.
 */
void vthreads_name(const char *name, uint64_t number, char to[VTHREADS_NAME_TEXT_MAX]);

#endif
