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

struct device_works {
	const struct film *film;
	struct device_waits waits;
	vec(struct device_work) all; /* sorted by process, stream, start */
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
 * Of a wait for a stream, or for all of them, a number that other waits for the same have, too: not
 * 0. 0: it is for no device, or for which stream is not known.
 */
uint64_t device_works_key(const struct device_works *works, uint32_t thread, uint64_t start,
			  uint64_t end);

/*
 * Calls take() with each work that ran in [start, end), which its times are cut to, if a thread
 * waited for its stream then: no part of a wait for what is not known has any. A value other than 0
 * ends it and is returned.
 */
int device_works_of_wait(const struct device_works *works, uint32_t thread, uint64_t start,
			 uint64_t end, int (*take)(void *context, const struct device_work *work),
			 void *context);

#endif
