/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds: the clock of all times in stackcam. */
static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* What the calling thread has used of a CPU, in nanoseconds. */
static inline uint64_t clock_thread_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000ull + (uint64_t)used.tv_nsec;
}

/*
 * How long to leave off after something that is done again and again took that many ns of a CPU: so
 * that it takes one part-th of the time, or, not to be left off for longer than most ns, up to one
 * least-th.
 */
static inline uint64_t clock_pause(uint64_t used, unsigned int part, uint64_t most,
				   unsigned int least)
{
	uint64_t pause = part * used < most ? part * used : most;

	return pause > least * used ? pause : least * used;
}

/* CLOCK_REALTIME: nanoseconds since 1970, as the machine has it now. */
static inline uint64_t clock_wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* What is to be added to clock_ns() for the time since 1970 as the machine has it now. */
static inline int64_t clock_wall_offset(void)
{
	struct timespec wall, mono;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (wall.tv_sec - mono.tv_sec) * 1000000000ll + (wall.tv_nsec - mono.tv_nsec);
}

#endif
