// SPDX-License-Identifier: Apache-2.0
/*
 * Runs until it gets SIGTERM, for at most the seconds of the first argument (60), with as many
 * threads as the second says (1). Each thread computes the same again and again, through calls, and
 * compares: that nothing was changed is what it prints at the end. A probe that is put in or taken
 * out at a bad moment would show here.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

static volatile sig_atomic_t over;
static unsigned long wanted;

static void end(int number)
{
	(void)number;
	over = 1;
}

static inline __attribute__((always_inline)) unsigned long mix(unsigned long value)
{
	value ^= value >> 29;
	return value * 0xbf58476d1ce4e5b9ul;
}

KEPT static unsigned long leaf(unsigned long value)
{
	return mix(value);
}

KEPT static unsigned long middle(unsigned long value)
{
	value = leaf(value + 1);
	value = leaf(value + 2);
	NO_TAIL_CALL();
	return value;
}

KEPT static unsigned long outer(unsigned long value)
{
	for (int i = 0; i < 50; i++)
		value = middle(value);
	NO_TAIL_CALL();
	return value;
}

static unsigned long without_calls(unsigned long value)
{
	for (int i = 0; i < 50; i++)
		value = mix(mix(value + 1) + 2);
	return value;
}

static void *round_and_round(void *argument)
{
	unsigned long rounds = 0;

	(void)argument;
	while (!over) {
		if (outer(42) != wanted) {
			puts("the checksum is WRONG");
			exit(1);
		}
		rounds++;
	}
	return (void *)rounds;
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 60;
	int count = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[16];
	unsigned long rounds = 0;

	if (count < 1 || count > 16)
		return 2;
	signal(SIGTERM, end);
	signal(SIGALRM, end);
	alarm(seconds);
	wanted = without_calls(42);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, round_and_round, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		void *more;

		pthread_join(threads[i], &more);
		rounds += (unsigned long)more;
	}
	printf("the checksum is right; rounds: %s\n", rounds ? "some" : "none");
	return 0;
}
