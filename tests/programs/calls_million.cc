// SPDX-License-Identifier: Apache-2.0
/*
 * The classic case: a loop that calls a function of two lines, built without optimization. As often
 * as the first argument says (1,000,000). A second argument: nanoseconds at least from one call to
 * the next. A third one: it says "ready" and waits for a line from standard input.
 */
#include <ctime>

#include "calls.h"

static unsigned long sum;

int add(int a, int b)
{
	sum += a;
	return a + b;
}

static long now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000l + time.tv_nsec;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000000;
	long pace = argc > 2 ? atol(argv[2]) : 0;
	long begin;
	int last = 0;

	if (argc > 3) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	begin = now();

	for (long i = 0; i < count; i++) {
		while (pace && now() - begin < i * pace)
			;
		last = add((int)i, last & 0xff);
	}
	calls_add(sum);
	calls_add(last);
	/* for benchmarks; to standard error, since it is another one each time */
	fprintf(stderr, "ns %ld\n", now() - begin);
	printf("calls add %ld\n", count);
	return calls_end();
}
