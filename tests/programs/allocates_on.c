// SPDX-License-Identifier: Apache-2.0
/*
 * allocates_on RATE SECONDS: allocates and gives back so often a second, a half in alpha(), 1000
 * bytes each, and a half in beta(), 3000 bytes each.
 * allocates_on fails: holds blocks that it could not make larger.
 * Both say what they did: a name, bytes, and bytes that are held.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define TURN 50ul

static void use(void *memory)
{
	if (!memory)
		exit(1);
	__asm__ volatile("" : : "r"(memory) : "memory");
}

static void KEPT alpha(void)
{
	for (unsigned long i = 0; i < TURN; i++) {
		void *memory = malloc(1000);

		use(memory);
		free(memory);
	}
}

static void KEPT beta(void)
{
	for (unsigned long i = 0; i < TURN; i++) {
		void *memory = calloc(3, 1000);

		use(memory);
		free(memory);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The old block stays where it fails. */
static void KEPT fails(void)
{
	volatile size_t too_much = 1ul << 60;
	unsigned long kept = 0;

	for (int i = 0; i < 100; i++) {
		void *memory = malloc(10000), *larger;

		use(memory);
		larger = realloc(memory, too_much);
		if (larger)
			exit(1);
		kept += 10000;
		/* one in two is given back after all */
		if (i % 2) {
			free(memory);
			kept -= 10000;
		}
	}
	printf("fails 1000000 %lu\n", kept);
}

int main(int argc, char **argv)
{
	double begin = now();
	unsigned long turns = 0;

	if (argc == 2 && !strcmp(argv[1], "fails")) {
		fails();
		return 0;
	}
	if (argc != 3)
		return 2;
	while (now() - begin < atof(argv[2])) {
		if ((double)turns * 2 * TURN >= atof(argv[1]) * (now() - begin)) {
			usleep(500);
			continue;
		}
		alpha();
		beta();
		turns++;
	}
	printf("alpha %lu 0\nbeta %lu 0\n", turns * TURN * 1000, turns * TURN * 3000);
	return 0;
}
