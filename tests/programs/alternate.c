// SPDX-License-Identifier: Apache-2.0
/*
 * "alternate SECONDS": waits at the same place of the code, with the same stack pointer, below
 * other functions in turn; what tells them apart is one word of the stack, or a saved rbp. Prints
 * "ready", and in the end how long it has waited below each, in ns: "left N right N near_by N
 * far_away N".
 */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT	__attribute__((noipa))
#define WAIT_NS 300000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

KEPT static uint64_t wait_there(void)
{
	const struct timespec time = {0, WAIT_NS};
	uint64_t begin = now_ns();

	nanosleep(&time, NULL);
	return now_ns() - begin;
}

/* The same frame in both: only the return address differs. */
KEPT static uint64_t left(void)
{
	uint64_t took = wait_there();

	__asm__ volatile("");
	return took;
}

KEPT static uint64_t right(void)
{
	uint64_t took = wait_there();

	__asm__ volatile("");
	return took;
}

/* Its frame is found by rbp, as it moves the stack pointer by a number that it is given. */
KEPT static uint64_t moved(size_t bytes)
{
	char *room = alloca(bytes);
	uint64_t took;

	__asm__ volatile("" ::"r"(room) : "memory");
	took = wait_there();
	__asm__ volatile("" ::"r"(room) : "memory");
	return took;
}

/* Both end where the other one does: what lies above is as far away as that. */
KEPT static uint64_t near_by(void)
{
	char room[1024];
	uint64_t took;

	__asm__ volatile("" ::"r"(room) : "memory");
	took = moved(512);
	__asm__ volatile("" ::"r"(room) : "memory");
	return took;
}

KEPT static uint64_t far_away(void)
{
	char room[512];
	uint64_t took;

	__asm__ volatile("" ::"r"(room) : "memory");
	took = moved(1024);
	__asm__ volatile("" ::"r"(room) : "memory");
	return took;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	uint64_t times[4] = {0}, begin = now_ns();

	puts("ready");
	fflush(stdout);
	while (now_ns() - begin < seconds * 1e9) {
		times[0] += left();
		times[1] += right();
		times[2] += near_by();
		times[3] += far_away();
	}
	printf("left %llu right %llu near_by %llu far_away %llu\n", (unsigned long long)times[0],
	       (unsigned long long)times[1], (unsigned long long)times[2],
	       (unsigned long long)times[3]);
	return 0;
}
