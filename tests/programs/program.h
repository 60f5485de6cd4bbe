/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAM_H
#define PROGRAM_H

/*
 * What the programs of known truth share. Each takes the seconds that it shall run as its first
 * argument, says "ready" on standard output when its real work begins, and ends by itself.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

/* A function that stays one: not inlined, not cloned, its arguments not propagated into it. */
#define KEPT __attribute__((noipa, unused))

/* Behind a call, makes that it can't become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* About a millisecond on a 3 GHz core: an iteration of spin() takes one clock cycle. */
#define MILLISECOND 3000000UL

/*
 * The same code at the same alignment wherever it is used, so that its time depends on turns alone.
 */
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
static double program_seconds;

/* Reads the seconds to run (2 if there is no argument), at most 120. */
static inline void program_begin(int argc, char **argv)
{
	program_seconds = argc > 1 ? atof(argv[1]) : 2;
	if (!(program_seconds > 0 && program_seconds <= 120)) {
		fprintf(stderr, "usage: %s SECONDS (at most 120)\n", argv[0]);
		exit(2);
	}
	clock_gettime(CLOCK_MONOTONIC, &program_end);
	program_end.tv_sec += (time_t)program_seconds;
	program_end.tv_nsec += (long)((program_seconds - (double)(time_t)program_seconds) * 1e9);
	if (program_end.tv_nsec >= 1000000000) {
		program_end.tv_nsec -= 1000000000;
		program_end.tv_sec++;
	}
}

/*
 * The time is over when the clock says so, but not before half that time was spent on a CPU, by
 * this process or its children: a busy machine makes a program longer, not its samples few.
 */
static inline int program_over(void)
{
	struct timespec now;
	struct tms used;
	double late;

	clock_gettime(CLOCK_MONOTONIC, &now);
	late = (double)(now.tv_sec - program_end.tv_sec) +
	       (double)(now.tv_nsec - program_end.tv_nsec) / 1e9;
	if (late < 0)
		return 0;
	times(&used);
	return late > 10 ||
	       (double)(used.tms_utime + used.tms_stime + used.tms_cutime + used.tms_cstime) /
			       (double)sysconf(_SC_CLK_TCK) >=
		       program_seconds / 2;
}

static inline void program_ready(void)
{
	puts("ready");
	fflush(stdout);
}

#endif
