/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

/*
 * Selects the first N of many items, in the order of a qsort() comparison, with a binary heap of N
 * items whose root, items[0], is the last item in that order. Fill the array, then call
 * heap_make(). Then replace the root with each further item that compares less than the root, and
 * call heap_sink(), which restores the heap. Sort the result with qsort().
 */
typedef int heap_compare(const void *a, const void *b);

void heap_make(void *items, size_t count, size_t size, heap_compare *compare);
void heap_sink(void *items, size_t count, size_t size, heap_compare *compare);

#endif
