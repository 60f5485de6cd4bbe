/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_GO_HEAP_CODE_H
#define RUNTIME_GO_HEAP_CODE_H

#include "runtime/go/heap.h"

/*
 * Where the profile of the heap is in a program that is stripped of its symbols: read from the code
 * of functions that use it, which Go's own table names.
 *
 * Fills heap->buckets and heap->rate. Returns 0; -ENOENT: the code is not like that of any known
 * version, or the program does not sample, so that the linker has left those functions out; another
 * negative errno with *why filled.
 */
int go_heap_in_code(struct go_heap *heap, const struct image *image, struct fail *why);

#endif
