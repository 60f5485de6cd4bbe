/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SECOND_NS 1000000000ull
#define MS_NS	  1000000ull

/* CLOCK_MONOTONIC in nanoseconds, the clock of all times in stackcam. */
static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread in nanoseconds. */
static inline uint64_t clock_thread_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
}

/*
 * Pause in ns after a repeated task that has used that many ns of CPU time, so that the task takes
 * 1/part of the time. A pause is at most `most` ns, unless the task would then take more than
 * 1/least of the time.
 */
static inline uint64_t clock_pause(uint64_t used, unsigned int part, uint64_t most,
				   unsigned int least)
{
	uint64_t pause = part * used < most ? part * used : most;

	return pause > least * used ? pause : least * used;
}

/* CLOCK_REALTIME: nanoseconds since 1970, by the machine's present setting. */
static inline uint64_t clock_wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Add it to clock_ns() to get nanoseconds since 1970, by the machine's present setting. */
static inline int64_t clock_wall_offset(void)
{
	struct timespec wall, mono;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (wall.tv_sec - mono.tv_sec) * 1000000000ll + (wall.tv_nsec - mono.tv_nsec);
}

#endif
