/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

/*
 * Keeps the first of many items in the order of qsort()'s compare, as many as there is room for: an
 * array whose root, items[0], is the last of those that are kept. Once the array is full,
 * heap_make() makes it so; then a new item that comes before the root replaces it, and heap_sink()
 * mends the array. qsort() brings it into order in the end.
 */
typedef int heap_compare(const void *a, const void *b);

void heap_make(void *items, size_t count, size_t size, heap_compare *compare);
void heap_sink(void *items, size_t count, size_t size, heap_compare *compare);

#endif
