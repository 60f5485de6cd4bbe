// SPDX-License-Identifier: Apache-2.0
/*
 * Allocates memory of a device that cuda_driver.c stands for, in every way, from functions of their
 * own, each with a tag of its own. First a block of before(); then, for each line on standard
 * input, a round: ROUNDS turns in each of THREADS threads. Behind each it prints what the driver
 * knows: bytes allocated, and in use, by tag.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "cuda_driver.h"
#include "program.h"

enum tag {
	BEFORE,
	KEEPER,
	CHURNER,
	MAPPER,
};

#define ROUNDS	50
#define THREADS 2

static void check(int result)
{
	if (result)
		exit(1);
}

/* Keeps what it allocates. */
KEPT static void keeper(int round)
{
	struct driver_array array = {256, 16, DRIVER_FLOAT, 4};
	uint64_t to;
	size_t pitch;

	driver_tag(KEEPER);
	check(cuMemAlloc_v2(&to, 1000 + (size_t)round));
	check(cuMemAllocManaged(&to, 3000, 1));
	check(cuMemAllocPitch_v2(&to, &pitch, 700, 3, 4));
	check(cuArrayCreate_v2(&to, &array));
	/* there is no room */
	if (!cuMemAlloc_v2(&to, DRIVER_LARGEST + 1))
		exit(1);
	NO_TAIL_CALL();
}

/* Gives back nearly all. */
KEPT static void churner(int round)
{
	struct driver_array array = {64, 0, DRIVER_FLOAT, 1};
	uint64_t a, b, c;

	driver_tag(CHURNER);
	check(cuMemAllocAsync(&a, 5000, NULL));
	check(cuMemAllocFromPoolAsync(&b, 7000, NULL, NULL));
	check(cuArrayCreate_v2(&c, &array));
	check(cuMemFreeAsync(a, NULL));
	check(cuArrayDestroy(c));
	check(cuMemFree_v2(0));
	if (round % 10)
		check(cuMemFree_v2(b));
	NO_TAIL_CALL();
}

/* Memory without an address: it is there until it is released and unmapped, in either order. */
KEPT static void mapper(int round)
{
	uint64_t handle,
		at = 0x600000000000 + (uint64_t)pthread_self() + (uint64_t)round * (64 << 20);
	const size_t size = 2 << 20;

	driver_tag(MAPPER);
	check(cuMemCreate(&handle, size, NULL, 0));
	check(cuMemMap(at, size, 0, handle, 0));
	check(cuMemMap(at + size, size, 0, handle, 0));
	if (round % 3 == 0) {
		check(cuMemUnmap(at, 2 * size));
		check(cuMemRelease(handle));
	} else if (round % 3 == 1) {
		check(cuMemRelease(handle));
		check(cuMemUnmap(at, size));
		check(cuMemUnmap(at + size, size));
	} else if (round % 2) {
		/* it stays mapped */
		check(cuMemRelease(handle));
		check(cuMemUnmap(at, size));
	}
	NO_TAIL_CALL();
}

KEPT static void before(void)
{
	uint64_t to;

	check(cuMemAlloc_v2(&to, 123456));
	NO_TAIL_CALL();
}

static void *work(void *round)
{
	for (int i = 0; i < ROUNDS; i++) {
		keeper(i);
		churner(i);
		mapper(*(int *)round * ROUNDS + i);
	}
	return NULL;
}

int main(void)
{
	struct driver_truth truth;
	pthread_t threads[THREADS];
	char line[64];

	before();
	program_ready();
	for (int round = 0; fgets(line, sizeof(line), stdin); round++) {
		for (int i = 0; i < THREADS; i++)
			check(pthread_create(&threads[i], NULL, work, &round));
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		driver_truth_of(&truth);
		for (int i = 0; i < DRIVER_TAGS; i++)
			printf("%" PRIu64 " %" PRIu64 " ", truth.allocated[i], truth.in_use[i]);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
