/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_DEVICE_WORKS_H
#define QUERY_DEVICE_WORKS_H

#include "query/device_waits.h"

/*
 * What devices ran (event gpu-lanes) while threads waited for them (event gpu-wait): a wait is for
 * a stream of its process, or for all of them, and the kernels and copies there that ran in it are
 * what it waited for.
 */
struct device_work {
	uint64_t start, end; /* by the film's clock */
	uint64_t until;	     /* the last end of the stream's works up to this one */
	uint32_t process, stream, device, name; /* name: a frame; 0: not known */
	bool is_copy;
};

/* Which streams a wait is for: [first, last]. */
struct device_streams {
	uint64_t end; /* of the wait */
	uint32_t thread, first, last;
};

struct device_works {
	const struct film *film;
	struct device_waits waits;
	vec(struct device_streams) streams; /* of waits; sorted by thread, then end */
	vec(struct device_work) all;	    /* sorted by process, stream, start */
};

/*
 * Reads the works that overlap [from, to), and the waits that end at from or later. A film without
 * one of these events has none. Returns 0 or a negative errno with *why filled; call
 * device_works_free() in both cases.
 */
int device_works_load(struct device_works *works, struct film *film, uint64_t from, uint64_t to,
		      struct fail *why);
void device_works_free(struct device_works *works);

/*
 * A number that waits for the same stream share, or those for all streams; never 0. Returns 0 if
 * the wait is not for a device, or its stream is not known.
 */
uint64_t device_works_key(const struct device_works *works, uint32_t thread, uint64_t start,
			  uint64_t end);

/*
 * Calls emit() with each work that ran in [start, end), which its times are cut to, if a thread
 * waited for its stream then: no part of a wait for what is not known has any. A value other than 0
 * ends it and is returned.
 */
int device_works_of_wait(const struct device_works *works, uint32_t thread, uint64_t start,
			 uint64_t end, int (*emit)(void *context, const struct device_work *work),
			 void *context);

/* Of a wait, or of several: for how long what has one name ran on one stream. */
struct device_share {
	uint32_t name, device, stream; /* name: a frame; 0: not known */
	bool is_copy;
	uint64_t ns; /* of the wait */
};

/* The longest ones of a wait, longest first; behind the last one ns is 0. */
#define DEVICE_SHARES 4

/* Works within waits; of: a number of the caller's, by which they are summed up. */
struct device_ran {
	struct device_work work;
	uint32_t of;
};

struct device_rans {
	struct device_ran *at;
	size_t count, room;
};

/* Adds what device_works_of_wait() finds. 0 or -ENOMEM. */
int device_rans_add(struct device_rans *rans, const struct device_works *works, uint32_t thread,
		    uint64_t start, uint64_t end, uint32_t of);

/*
 * Sums them up, which sorts them: shares(context, of) is where those of a number are kept, which
 * has room for DEVICE_SHARES.
 */
void device_rans_sum(struct device_rans *rans,
		     struct device_share *(*shares)(void *context, uint32_t of), void *context);

#endif
