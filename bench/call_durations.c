// SPDX-License-Identifier: Apache-2.0
/*
 * call_durations rounds kilobytes
 *
 * A function of some 70 ns below two others, which also work on that many kilobytes of memory between its calls.
 * Prints the ns that it takes, measured by itself over many calls in a row, as the median of batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned char *memory;
static size_t size;
static volatile unsigned int sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* a chain of multiplications: each waits for the one before */
static unsigned int work(unsigned int x)
{
	for (int i = 0; i < 40; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

__attribute__((noinline)) unsigned int short_one(unsigned int x)
{
	return work(x);
}

/* the same without a name that is asked for */
__attribute__((noinline)) static unsigned int plain_one(unsigned int x)
{
	__asm__ volatile("");
	return work(x);
}

__attribute__((noinline)) static void touch(void)
{
	for (size_t i = 0; i < size; i += 64)
		memory[i]++;
}

__attribute__((noinline)) unsigned int middle(unsigned int x)
{
	for (int i = 0; i < 4; i++) {
		touch();
		x = short_one(x);
	}
	return x + 1;
}

__attribute__((noinline)) unsigned int outermost(unsigned int x)
{
	return middle(middle(x)) + 1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	double batches[51], begin;
	unsigned int x = 1;

	size = argc > 2 ? (size_t)atol(argv[2]) << 10 : 0;
	memory = calloc(1, size + 1);
	if (!memory)
		return 1;
	for (int batch = 0; batch < 51; batch++) {
		begin = now();
		for (int i = 0; i < 1000; i++)
			x = plain_one(x);
		batches[batch] = (now() - begin) / 1000;
	}
	qsort(batches, 51, sizeof(*batches), compare);
	for (long i = 0; i < rounds; i++)
		x = outermost(x);
	sink = x;
	printf("%.1f\n", batches[25]);
	free(memory);
	return 0;
}
