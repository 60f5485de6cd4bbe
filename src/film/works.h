/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WORKS_H
#define FILM_WORKS_H

#include <stddef.h>
#include <stdint.h>

/* What devices ran: a row is one kernel or copy on one stream, from its begin to its end. */
enum film_work_flag {
	FILM_WORK_COPY = 1, /* it copied or set memory */
	/*
	 * the launch is not known: thread is any one of the process, launched is 0, and so is
	 * stack, unless it is known where a graph was captured
	 */
	FILM_WORK_UNSAMPLED = 2,
	/*
	 * no work: records of the process were lost in that time, so that any of its devices may
	 * have been busy
	 */
	FILM_WORK_LOST = 4,
	/*
	 * of the event gpu-wait, which has no others: thread waited for what the stream ran, or,
	 * with the second, for what all streams of the process ran
	 */
	FILM_WORK_WAIT = 8,
	FILM_WORK_ALL_STREAMS = 16,
};

struct film_work {
	uint64_t end;
	uint64_t duration; /* ns, at most end */
	uint64_t launched; /* ns from its launch to its begin; 0: not known */
	uint64_t bytes;	   /* of a copy */
	uint32_t thread;   /* that launched it */
	uint32_t stack;	   /* of the launch, and of the capture of a graph; 0: not known */
	uint32_t name;	   /* a frame, a mark; 0: not known */
	uint32_t device;   /* as the process counts them */
	uint32_t stream;   /* of the process */
	uint32_t flags;	   /* enum film_work_flag */
};

/* A block of them, as columns, sorted by end. */
struct film_works {
	size_t count;
	const uint64_t *end, *duration, *launched, *bytes;
	const uint32_t *thread, *stack, *name, *device, *stream, *flags;
};

#endif
