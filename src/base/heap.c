// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"

static void swap(unsigned char *a, unsigned char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

static void sink(unsigned char *items, size_t count, size_t size, heap_compare *compare, size_t at)
{
	for (;;) {
		size_t last = at;

		for (size_t child = 2 * at + 1; child < 2 * at + 3 && child < count; child++)
			if (compare(items + child * size, items + last * size) > 0)
				last = child;
		if (last == at)
			return;
		swap(items + at * size, items + last * size, size);
		at = last;
	}
}

void heap_make(void *items, size_t count, size_t size, heap_compare *compare)
{
	for (size_t at = count / 2; at-- > 0;)
		sink(items, count, size, compare, at);
}

void heap_sink(void *items, size_t count, size_t size, heap_compare *compare)
{
	sink(items, count, size, compare, 0);
}
