// SPDX-License-Identifier: Apache-2.0

// Three threads call a recursive function: fib(N), as often as the second argument says.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int depth, times;
volatile long sink;

__attribute__((noinline)) long fib(int n);
__attribute__((noinline)) void *run(const char *who);

long fib(int n)
{
	sink++;
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

void *run(const char *who)
{
	sink += who[0];
	for (int i = 0; i < times; i++)
		sink += fib(depth);
	return NULL;
}

static void *start(void *who)
{
	return run(who);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"one", "two", "three"};
	pthread_t threads[3];

	depth = argc > 1 ? atoi(argv[1]) : 5;
	times = argc > 2 ? atoi(argv[2]) : 10;
	/* the pages of these texts are there before a probe reads them */
	for (int i = 0; i < 3; i++)
		sink += *(const volatile char *)names[i];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, start, (void *)names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
