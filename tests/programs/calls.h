/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLS_H
#define CALLS_H

/*
 * What the programs for the function tracer share. Their functions count their own calls; at the
 * end the program prints one line "calls NAME COUNT" for each, and "checksum NUMBER" of what it
 * computed. A tracer has to find the same counts, and must not change a line.
 */

#include <stdio.h>
#include <stdlib.h>

/* A function that stays one: not inlined, not cloned, its arguments not propagated into it. */
#ifdef __clang__
#define KEPT __attribute__((noinline, used))
#else
#define KEPT __attribute__((noipa, used))
#endif

/* Behind a call, makes that it can't become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/*
 * COUNTED(f); before the function, CALLED(f); as its first statement, TELL(f); at the end. For one
 * thread: an instruction with a lock prefix, at the begin of a function, could not be probed.
 */
#define COUNTED(name)	     static unsigned long name##_calls
#define CALLED(name)	     ((void)name##_calls++)
#define TELL(name)	     printf("calls %s %lu\n", #name, name##_calls)
#define TELL_AS(name, words) printf("calls %s %lu\n", words, name##_calls)

static unsigned long calls_checksum __attribute__((unused)) = 1469598103934665603ul;

/* Adds a value to the checksum. For one thread at a time. */
static inline __attribute__((always_inline, unused)) void calls_add(unsigned long value)
{
	calls_checksum = (calls_checksum ^ value) * 1099511628211ul;
}

static inline __attribute__((always_inline, unused)) int calls_end(void)
{
	printf("checksum %lx\n", calls_checksum);
	return fflush(stdout) ? 1 : 0;
}

#endif
