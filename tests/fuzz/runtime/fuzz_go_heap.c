// SPDX-License-Identifier: Apache-2.0
/*
 * Go's list of buckets in memory that is the input: its first byte says the version, zeros follow.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "runtime/go/heap.h"

#define BASE  0x1000ull
#define BYTES 8192u

struct input {
	uint8_t bytes[BYTES];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_input(void *context, void *to, size_t size, uint64_t address)
{
	const struct input *input = context;

	if (address < BASE || address - BASE > BYTES || size > BYTES - (address - BASE))
		return -EFAULT;
	memcpy(to, input->bytes + (address - BASE), size);
	return 0;
}

static void take(void *context, const struct go_heap_bucket *bucket)
{
	uint64_t *taken = context;

	check(bucket->count <= GO_HEAP_STACK_MAX && bucket->allocs &&
	      bucket->frees <= bucket->allocs && bucket->free_bytes <= bucket->alloc_bytes);
	++*taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_heap heap = {.buckets = BASE, .rate = BASE + 8};
	struct input input = {0};
	const struct runtime_memory memory = {read_input, &input};
	uint64_t rate, taken = 0;
	int count;

	if (!size)
		return 0;
	heap.minor = 19 + data[0] % 9;
	memcpy(input.bytes, data + 1, size - 1 < BYTES ? size - 1 : BYTES);
	count = go_heap_read(&heap, &memory, 0, &rate, take, &taken);
	/* a list that has no end is one of too many */
	check(count < 0 || (count <= GO_HEAP_BUCKETS_MAX && taken <= (uint64_t)count));
	return 0;
}
