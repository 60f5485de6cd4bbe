// SPDX-License-Identifier: Apache-2.0
/* Heaps of malloc() and jemalloc, pools of Python, chunks of V8, in memory that is the input. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "runtime/allocators/glibc.h"
#include "runtime/allocators/jemalloc.h"
#include "runtime/python/pools.h"
#include "runtime/v8/chunks.h"

#define BASE  0x40000000ull
#define PAGES 8u

struct input {
	const uint8_t *bytes;
	size_t given, size;
	uint64_t absent;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_input(void *context, void *to, size_t size, uint64_t address)
{
	const struct input *input = context;
	uint64_t at = address - BASE;

	if (address < BASE || at > input->size || size > input->size - at)
		return -EFAULT;
	memset(to, 0, size);
	if (at < input->given)
		memcpy(to, input->bytes + at, size < input->given - at ? size : input->given - at);
	return 0;
}

static int look_at_input(void *context, uint64_t address, size_t count, bool *is)
{
	const struct input *input = context;

	for (size_t i = 0; i < count; i++) {
		uint64_t page = (address - BASE) / RESIDENT_PAGE + i;

		is[i] = address >= BASE && page < input->size / RESIDENT_PAGE &&
			!(input->absent >> page % 64 & 1);
	}
	return 0;
}

static bool may_be_own(void *context, uint64_t at, uint64_t bytes)
{
	(void)context;
	(void)at;
	return bytes > 0;
}

#define ROOT_BYTES (2u << 20)

static void look_at_extents(struct resident *memory, uint64_t end, struct jemalloc_heap *heap)
{
	struct jemalloc_extent extent;

	for (uint64_t at = BASE; at < end; at += RESIDENT_PAGE) {
		if (jemalloc_heap_extent(memory, heap, at, end, &extent))
			check(extent.bytes >= RESIDENT_PAGE && extent.in_use <= extent.bytes);
		jemalloc_heap_own(memory, at);
	}
}

/* The tree wherever it may be, and then either one at the beginning of the input. */
static void look_for_jemalloc(struct resident *memory, uint64_t end)
{
	const uint64_t samples[] = {BASE, BASE + RESIDENT_PAGE};
	const struct jemalloc_search search = {BASE, BASE + 2 * ROOT_BYTES, samples, 2, may_be_own,
					       NULL};
	struct jemalloc_heap heap;

	if (jemalloc_heap_find(memory, &search, &heap)) {
		check(heap.root >= BASE && heap.root < end);
		look_at_extents(memory, end, &heap);
		return;
	}
	heap.root = BASE;
	for (int is_wide = 0; is_wide < 2; is_wide++) {
		heap.is_wide = is_wide;
		look_at_extents(memory, end, &heap);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data + 8, size - 8, 0, 0};
	struct resident memory = {.context = &input, .read = read_input, .present = look_at_input};
	uint64_t end, first, last, arena;
	struct python_pool pool;
	struct glibc_heap heap;
	struct v8_chunk chunk;

	if (size < 8)
		return 0;
	memcpy(&input.absent, data, 8);
	/* zeros follow */
	input.size = PAGES * RESIDENT_PAGE;
	end = BASE + input.size;
	glibc_heap_walk(&memory, BASE, end, &heap);
	check(heap.in_use + heap.free <= input.size && (!heap.top || heap.top < end));
	check(heap.cached <= (uint64_t)input.size * 1024);
	arena = glibc_heap_main_arena(&memory, BASE, end, heap.top);
	check(!arena || (arena >= BASE && arena < end));
	if (arena)
		glibc_heap_fast(&memory, arena);
	glibc_heap_fast(&memory, BASE);
	if (glibc_heap_of_thread(&memory, BASE, &first, &last, &arena)) {
		check(first > BASE && last > first && last - BASE <= GLIBC_HEAP_ALIGNMENT);
		glibc_heap_walk(&memory, first, last < end ? last : end, &heap);
	}
	resident_forget(&memory, end);
	for (uint64_t at = BASE; at < end; at += RESIDENT_PAGE) {
		uint64_t bytes = glibc_heap_mapped(&memory, at, end);

		check(bytes <= end - at && bytes % RESIDENT_PAGE == 0);
		bytes = python_pool(&memory, at, &pool);
		check(!bytes || (bytes <= PYTHON_POOL_MAX && pool.in_use < bytes));
	}
	if (v8_chunk_at(&memory, BASE, &chunk))
		check(chunk.at == BASE && chunk.area > BASE && chunk.area < chunk.area_end &&
		      chunk.area_end <= chunk.end &&
		      chunk.allocated <= chunk.area_end - chunk.area);
	look_for_jemalloc(&memory, end);
	free(memory.bytes);
	return 0;
}
