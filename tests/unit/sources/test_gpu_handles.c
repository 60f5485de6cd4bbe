// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of a device that handles stand for: when it is gone, against a plain table. And bytes of
 * arrays.
 */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "sources/gpu/array.h"
#include "sources/gpu/handles.h"

static uint64_t last_gone;
static unsigned int gone_count;

static void gone(void *context, uint32_t pid, uint64_t handle)
{
	(void)context;
	(void)pid;
	last_gone = handle;
	gone_count++;
}

static void ends_with_the_last_reference(void **state)
{
	struct gpu_handles *h = gpu_handles_new();

	(void)state;
	assert_non_null(h);
	gone_count = 0;
	/* released, then unmapped */
	gpu_handles_made(h, 7, 1);
	gpu_handles_mapped(h, 7, 1, 0x1000, 0x1000);
	gpu_handles_mapped(h, 7, 1, 0x2000, 0x3000);
	assert_int_equal(gpu_handles_released(h, 7, 1), GPU_HANDLE_KEPT);
	gpu_handles_unmapped(h, 7, 0x2000, 0x3000, gone, NULL);
	assert_int_equal(gone_count, 0);
	gpu_handles_unmapped(h, 7, 0x1000, 0x1000, gone, NULL);
	assert_int_equal(gone_count, 1);
	assert_int_equal(last_gone, 1);
	assert_int_equal(gpu_handles_released(h, 7, 1), GPU_HANDLE_UNKNOWN);
	/*
	 * unmapped at once with another one, and then released; one that was retained is there
	 * longer
	 */
	gpu_handles_made(h, 7, 2);
	gpu_handles_made(h, 7, 3);
	gpu_handles_retained(h, 7, 3);
	gpu_handles_mapped(h, 7, 2, 0x1000, 0x1000);
	gpu_handles_mapped(h, 7, 3, 0x2000, 0x1000);
	gpu_handles_unmapped(h, 7, 0x1000, 0x2000, gone, NULL);
	assert_int_equal(gone_count, 1);
	assert_int_equal(gpu_handles_released(h, 7, 2), GPU_HANDLE_GONE);
	assert_int_equal(gpu_handles_released(h, 7, 3), GPU_HANDLE_KEPT);
	assert_int_equal(gpu_handles_released(h, 7, 3), GPU_HANDLE_GONE);
	/* never mapped; of another process */
	gpu_handles_made(h, 7, 4);
	gpu_handles_made(h, 8, 4);
	assert_int_equal(gpu_handles_released(h, 8, 4), GPU_HANDLE_GONE);
	gpu_handles_forget(h, 7);
	assert_int_equal(gpu_handles_released(h, 7, 4), GPU_HANDLE_UNKNOWN);
	/* another process that ends, which has none or no more, takes nothing away */
	gpu_handles_made(h, 8, 5);
	gpu_handles_mapped(h, 8, 5, 0x1000, 0x1000);
	gpu_handles_forget(h, 9);
	gpu_handles_forget(h, 7);
	assert_int_equal(gpu_handles_released(h, 8, 5), GPU_HANDLE_KEPT);
	gpu_handles_forget(h, 8);
	gpu_handles_unmapped(h, 8, 0x1000, 0x1000, gone, NULL);
	assert_int_equal(gone_count, 1);
	gpu_handles_made(h, 8, 5);
	assert_int_equal(gpu_handles_released(h, 8, 5), GPU_HANDLE_GONE);
	assert_int_equal(gpu_handles_refused(h), 0);
	gpu_handles_free(h);
}

#define COUNT 64

/* The same by counting, for a long row of calls in any order. */
static void ends_as_counted(void **state)
{
	struct gpu_handles *h = gpu_handles_new();
	unsigned int references[COUNT] = {0}, mappings[COUNT] = {0}, expected = 0, told = 0;
	bool mapped[COUNT][2] = {{false}};

	(void)state;
	assert_non_null(h);
	gone_count = 0;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t n = (size_t)rand() % COUNT, m = (size_t)rand() % 2;
		bool lived = references[n] || mappings[n];
		uint64_t handle = 100 + n, address = (n * 2 + m + 1) << 20;

		if (rand() % 3 == 0) {
			if (!lived) {
				gpu_handles_made(h, 7, handle);
				references[n] = 1;
			}
		} else if (rand() % 2) {
			if (mapped[n][m]) {
				gpu_handles_unmapped(h, 7, address, 1 << 20, gone, NULL);
				mappings[n]--;
				mapped[n][m] = false;
			} else if (references[n]) {
				gpu_handles_mapped(h, 7, handle, address, 1 << 20);
				mappings[n]++;
				mapped[n][m] = true;
			}
		} else if (references[n]) {
			references[n]--;
			told += gpu_handles_released(h, 7, handle) == GPU_HANDLE_GONE;
		}
		expected += lived && !references[n] && !mappings[n];
		assert_int_equal(gone_count + told, expected);
	}
	assert_true(expected > 100);
	gpu_handles_free(h);
}

static void bytes_of_arrays(void **state)
{
	const struct hbm_array flat = {.width = 100, .height = 20, .format = 0x20, .channels = 4};
	const struct hbm_array line = {.width = 100, .format = 0x10, .channels = 1};
	const struct hbm_array deep = {
		.width = 8, .height = 8, .depth = 8, .format = 0x01, .channels = 2};
	const struct hbm_array levels = {
		.width = 8, .height = 4, .format = 0x08, .channels = 1, .levels = 4};
	struct hbm_array wrong = flat;

	(void)state;
	assert_int_equal(gpu_array_bytes(&flat), 100 * 20 * 16);
	assert_int_equal(gpu_array_bytes(&line), 200);
	assert_int_equal(gpu_array_bytes(&deep), 8 * 8 * 8 * 2);
	assert_int_equal(gpu_array_bytes(&levels), 8 * 4 + 4 * 2 + 2 * 1 + 1);
	wrong.format = 0x99;
	assert_int_equal(gpu_array_bytes(&wrong), 0);
	wrong = flat;
	wrong.channels = 1u << 31;
	assert_int_equal(gpu_array_bytes(&wrong), 0);
	wrong = flat;
	wrong.depth = wrong.height = wrong.width = 1ull << 24;
	assert_int_equal(gpu_array_bytes(&wrong), 0);
	wrong.levels = UINT32_MAX;
	assert_int_equal(gpu_array_bytes(&wrong), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_with_the_last_reference),
		cmocka_unit_test(ends_as_counted),
		cmocka_unit_test(bytes_of_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
