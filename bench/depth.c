// SPDX-License-Identifier: Apache-2.0
/*
 * "depth FRAMES SECONDS [wait]": works below a stack of that many functions (1 to 100, each another one),
 * by pieces that always take the same number of turns, one right after the other, and prints the
 * nanoseconds of each. With "wait", it sleeps there for 100 us again and again instead, and prints
 * how often it has. With TRASH_RBP, rbp holds nonsense all along, as it may in code without frame
 * pointers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECES_MAX 1000000
#define TURNS	   50000 /* of a loop of one clock cycle or a few: some ten microseconds */

#define KEPT	   __attribute__((noipa))

#ifdef TRASH_RBP
#define SCRAMBLE() __asm__ volatile("mov $0x5eed, %%ebp" ::: "rbp")
#else
#define SCRAMBLE() __asm__ volatile("" ::: "memory")
#endif

#define WAIT_NS 100000

static int frames;
static int does_wait;
static double seconds;
static uint32_t pieces[PIECES_MAX];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

KEPT static void piece(void)
{
	unsigned long turns = TURNS;

	SCRAMBLE();
	__asm__ volatile(".p2align 6\n"
			 "1:\tdec %0\n\t"
			 "jnz 1b"
			 : "+r"(turns)
			 :
			 : "cc");
}

KEPT static void work(void)
{
	uint64_t start = now_ns(), begin = start, end = start;
	size_t count = 0;

	while (end - start < seconds * 1e9 && count < PIECES_MAX) {
		piece();
		end = now_ns();
		pieces[count++] = (uint32_t)(end - begin);
		begin = end;
	}
	for (size_t i = 0; i < count; i++)
		printf("%u\n", pieces[i]);
}

KEPT static void wait_there(void)
{
	const struct timespec time = {0, WAIT_NS};
	uint64_t start = now_ns();
	unsigned long count = 0;

	while (now_ns() - start < seconds * 1e9) {
		nanosleep(&time, NULL);
		count++;
	}
	printf("%lu\n", count);
}

KEPT static void innermost(void)
{
	if (does_wait)
		wait_there();
	else
		work();
	__asm__ volatile("");
}

/* Behind the call stands something, so that it cannot become a jump. */
#define LINK(n, next)                 \
	KEPT static void f##n(void)   \
	{                             \
		SCRAMBLE();           \
		if (frames == n)      \
			innermost();  \
		else                  \
			next();       \
		__asm__ volatile(""); \
	}
#define TEN(t, next)        \
	LINK(t##9, next)    \
	LINK(t##8, f##t##9) \
	LINK(t##7, f##t##8) \
	LINK(t##6, f##t##7) \
	LINK(t##5, f##t##6) \
	LINK(t##4, f##t##5) \
	LINK(t##3, f##t##4) \
	LINK(t##2, f##t##3) \
	LINK(t##1, f##t##2) \
	LINK(t##0, f##t##1)

LINK(100, innermost)
TEN(9, f100)
TEN(8, f90)
TEN(7, f80)
TEN(6, f70)
TEN(5, f60)
TEN(4, f50)
TEN(3, f40)
TEN(2, f30)
TEN(1, f20)
LINK(9, f10)
LINK(8, f9)
LINK(7, f8)
LINK(6, f7)
LINK(5, f6)
LINK(4, f5)
LINK(3, f4)
LINK(2, f3)
LINK(1, f2)

int main(int argc, char **argv)
{
	frames = argc > 1 ? atoi(argv[1]) : 0;
	seconds = argc > 2 ? atof(argv[2]) : 0;
	does_wait = argc > 3 && !strcmp(argv[3], "wait");
	if (argc != 3 + does_wait || frames < 1 || frames > 100 ||
	    !(seconds > 0 && seconds <= 60)) {
		fprintf(stderr, "usage: depth FRAMES SECONDS [wait]\n");
		return 2;
	}
	f1();
	return 0;
}
