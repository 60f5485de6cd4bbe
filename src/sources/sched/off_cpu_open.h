/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_OFF_CPU_OPEN_H
#define SOURCES_SCHED_OFF_CPU_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/vec.h"
#include "film/film.h"

/*
 * Waits that go on: what the film has of each, so that only its time is to be told again. It holds
 * until the thread runs, which the kernel's side sees, and for one film. All zero is empty.
 */
struct open_wait {
	uint64_t start; /* of the thread */
	struct film_wait row, ready;
	int event;
};

struct open_waits {
	struct map places; /* tid: place in all */
	vec(struct open_wait) all;
};

/* The most of them: above that, all are to be forgotten. */
#define OPEN_WAITS_MAX 262144

/* Without memory it is not kept. */
void open_waits_put(struct open_waits *open, uint32_t tid, const struct open_wait *wait);
/* Null: it is not known. */
const struct open_wait *open_waits_get(const struct open_waits *open, uint32_t tid, uint64_t start);
void open_waits_forget(struct open_waits *open);

#endif
