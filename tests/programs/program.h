/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * What the programs of known truth share. Each takes the seconds that it shall run as its first
 * argument, says "ready" on standard output when its real work begins, and ends by itself.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A function that stays one: not inlined, not cloned, its arguments not propagated into it. */
#define KEPT __attribute__((noipa, unused))

/* Behind a call, makes that it can't become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* About a millisecond on a 3 GHz core: an iteration of spin() takes one clock cycle. */
#define MILLISECOND 3000000UL

/* The same code at the same alignment wherever it is used, so that its time depends on turns alone. */
static inline __attribute__((always_inline)) void spin(unsigned long turns)
{
	__asm__ volatile("test %0, %0\n\t"
			 "jz 2f\n\t"
			 ".p2align 6\n"
			 "1:\tdec %0\n\t"
			 "jnz 1b\n"
			 "2:"
			 : "+r"(turns)
			 :
			 : "cc");
}

static struct timespec program_end;

/* Reads the seconds to run (2 if there is no argument), at most 120. */
static inline void program_begin(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;

	if (!(seconds > 0 && seconds <= 120)) {
		fprintf(stderr, "usage: %s SECONDS (at most 120)\n", argv[0]);
		exit(2);
	}
	clock_gettime(CLOCK_MONOTONIC, &program_end);
	program_end.tv_sec += (time_t)seconds;
	program_end.tv_nsec += (long)((seconds - (time_t)seconds) * 1e9);
	if (program_end.tv_nsec >= 1000000000) {
		program_end.tv_nsec -= 1000000000;
		program_end.tv_sec++;
	}
}

static inline int program_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > program_end.tv_sec ||
	       (now.tv_sec == program_end.tv_sec && now.tv_nsec >= program_end.tv_nsec);
}

static inline void program_ready(void)
{
	puts("ready");
	fflush(stdout);
}

#endif
