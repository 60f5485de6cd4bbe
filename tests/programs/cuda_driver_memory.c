// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of the device that cuda_driver.c stands for: what is allocated stands in a table, by the
 * tag that the caller has set.
 */
#include "cuda_driver_own.h"
#include "program.h"

#define BLOCKS_MAX 8192

struct block {
	uint64_t key; /* address or handle; 0: free */
	uint64_t bytes;
	int tag;
	int is_handle, is_released, maps;
};

struct mapping {
	uint64_t address, handle;
};

static struct block blocks[BLOCKS_MAX];
static struct mapping mappings[BLOCKS_MAX];
static uint64_t next_address = 0x7f0000000000, next_handle = 0x1000;

/* -- the table --------------------------------------------------------------------------------- */

static struct block *block_of(uint64_t key)
{
	for (int i = 0; i < BLOCKS_MAX; i++)
		if (blocks[i].key == key)
			return &blocks[i];
	return NULL;
}

static int allocate(uint64_t *to, uint64_t bytes, int is_handle)
{
	struct block *block;
	int result = NO_ROOM;

	pthread_mutex_lock(&driver_lock);
	block = bytes <= DRIVER_LARGEST ? block_of(0) : NULL;
	if (block) {
		*block = (struct block){
			.bytes = bytes, .tag = driver_own_tag, .is_handle = is_handle};
		if (is_handle)
			block->key = next_handle++;
		else
			block->key = next_address;
		next_address += is_handle ? 0 : (bytes + 511) & ~511ull;
		*to = block->key;
		driver_truth.allocated[driver_own_tag] += bytes;
		driver_truth.in_use[driver_own_tag] += bytes;
		result = DONE;
	}
	pthread_mutex_unlock(&driver_lock);
	return result;
}

static void drop(struct block *block)
{
	driver_truth.in_use[block->tag] -= block->bytes;
	block->key = 0;
}

static int release(uint64_t key)
{
	struct block *block;

	pthread_mutex_lock(&driver_lock);
	block = key ? block_of(key) : NULL;
	if (block && block->is_handle)
		block->is_released = 1;
	if (block && !block->maps)
		drop(block);
	pthread_mutex_unlock(&driver_lock);
	return block || !key ? DONE : INVALID;
}

static int do_cuMemAlloc_v2(uint64_t *to, size_t bytes)
{
	return allocate(to, bytes, 0);
}

static int do_cuMemAllocManaged(uint64_t *to, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate(to, bytes, 0);
}

static int do_cuMemAllocPitch_v2(uint64_t *to, size_t *pitch, size_t width, size_t height,
				 unsigned int element)
{
	(void)element;
	*pitch = (width + 511) & ~(size_t)511;
	return allocate(to, *pitch * height, 0);
}

extern int cuMemAlloc_v2(uint64_t *to, size_t bytes);

/* One function of the interface calls another one: that is one allocation. */
static int do_cuMemAllocAsync(uint64_t *to, size_t bytes, void *stream)
{
	int result = cuMemAlloc_v2(to, bytes);

	(void)stream;
	NO_TAIL_CALL();
	return result;
}

static int do_cuMemAllocFromPoolAsync(uint64_t *to, size_t bytes, void *pool, void *stream)
{
	(void)pool;
	(void)stream;
	return allocate(to, bytes, 0);
}

static int do_cuMemFree_v2(uint64_t address)
{
	return release(address);
}

static int do_cuMemFreeAsync(uint64_t address, void *stream)
{
	(void)stream;
	return release(address);
}

static int do_cuArrayCreate_v2(uint64_t *to, const struct driver_array *array)
{
	/* a row of height 0 is an array of one dimension; four channels of 32 bits have 16 bytes */
	size_t height = array->height ? array->height : 1;

	return allocate(to, array->width * height * array->channels * 4, 0);
}

static int do_cuArrayDestroy(uint64_t array)
{
	return release(array);
}

static int do_cuMemCreate(uint64_t *to, size_t bytes, const void *properties, uint64_t flags)
{
	(void)properties;
	(void)flags;
	return allocate(to, bytes, 1);
}

static int do_cuMemRelease(uint64_t handle)
{
	return release(handle);
}

static int do_cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
		       uint64_t flags)
{
	struct block *block;

	(void)bytes;
	(void)offset;
	(void)flags;
	pthread_mutex_lock(&driver_lock);
	block = block_of(handle);
	for (int i = 0; block && i < BLOCKS_MAX; i++)
		if (!mappings[i].address) {
			mappings[i] = (struct mapping){address, handle};
			block->maps++;
			break;
		}
	pthread_mutex_unlock(&driver_lock);
	return block ? DONE : INVALID;
}

static int do_cuMemUnmap(uint64_t address, size_t bytes)
{
	pthread_mutex_lock(&driver_lock);
	for (int i = 0; i < BLOCKS_MAX; i++) {
		struct block *block;

		if (!mappings[i].address || mappings[i].address - address >= bytes)
			continue;
		block = block_of(mappings[i].handle);
		if (block && !--block->maps && block->is_released)
			drop(block);
		mappings[i].address = 0;
	}
	pthread_mutex_unlock(&driver_lock);
	return DONE;
}

/* -- entries ----------------------------------------------------------------------------------- */

ENTRY(cuMemAlloc_v2);
ENTRY(cuMemAllocManaged);
ENTRY(cuMemAllocPitch_v2);
ENTRY(cuMemAllocAsync);
ENTRY(cuMemAllocFromPoolAsync);
ENTRY(cuMemFree_v2);
ENTRY(cuMemFreeAsync);
ENTRY(cuArrayCreate_v2);
ENTRY(cuArrayDestroy);
ENTRY(cuMemCreate);
ENTRY(cuMemRelease);
ENTRY(cuMemMap);
ENTRY(cuMemUnmap);
