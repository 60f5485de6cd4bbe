/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_WRAPPED_MEMORY_H
#define TESTS_FUZZ_WRAPPED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Memory that holds anything. Addresses wrap around, so that each leads somewhere. */
struct memory {
	const uint8_t *bytes;
	size_t size;
	unsigned int reads;
};

/* What is looked for needs some hundred. */
#define READS_MAX 20000

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	struct memory *m = context;
	uint8_t *bytes = to;

	if (++m->reads > READS_MAX)
		return -1;
	for (size_t i = 0; i < size; i++)
		bytes[i] = m->bytes[(address + i) % m->size];
	return 0;
}

#endif
