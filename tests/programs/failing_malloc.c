// SPDX-License-Identifier: Apache-2.0
/*
 * For LD_PRELOAD: allocations that fail. FAIL_FROM=N: the first N succeed; FAIL_COUNT=M: the M
 * behind them fail, and the rest succeeds again. Small ones of libraries at their start count too,
 * so that a test can go from there on.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static atomic_long calls, from = -1, count;

static int fails(void)
{
	long n;

	if (from < 0) {
		const char *first = getenv("FAIL_FROM"), *many = getenv("FAIL_COUNT");

		count = many ? atol(many) : 0;
		from = first ? atol(first) : 0;
	}
	n = atomic_fetch_add(&calls, 1);
	if (n < from || n - from >= count)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, size);
}
