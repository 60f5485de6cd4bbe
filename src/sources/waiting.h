/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_WAITING_H
#define SOURCES_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve/samples.h"

/*
 * Stacks that wait for their other half: of a wait until it ends, of an allocation until it is
 * freed, of a launch until its kernel has run. Each was resolved once, when it was seen
 * (samples_resolve()); a later record of the same process and key brings what it is worth.
 *
 * The table is bounded: where it is full, what has waited for longest makes room, and is counted. A
 * place is of one film, so at the end of each film what waits is given back by waiting_empty(): an
 * interval is reported up to then, and begins anew in the next film, or it is a loss.
 */
struct waiting;

/* The first half. */
struct waiting_half {
	uint64_t key; /* of its identity (bpf/capture/abi.h), which only this process uses */
	uint32_t pid;
	uint32_t event; /* of the film */
	uint64_t time;	/* CLOCK_MONOTONIC, ns */
	uint64_t value; /* what is known about it; in the event's unit */
	struct samples_place place;
};

/*
 * limit: the most halves, 1 to WAITING_MAX; memory is taken as they come. Returns 0, -EINVAL or
 * -ENOMEM.
 */
#define WAITING_MAX (1u << 24)
int waiting_new(size_t limit, struct waiting **waiting);
void waiting_free(struct waiting *waiting);

/* Keeps a half; one of the same process and key that is there already is gone, and counted. */
void waiting_put(struct waiting *waiting, const struct waiting_half *half);

/* Finds the half of that process and key, and takes it out. False: there is none. */
bool waiting_pop(struct waiting *waiting, uint32_t pid, uint64_t key, struct waiting_half *half);

/*
 * The process is gone, and so are its waits. Returns how many that were: the caller knows whether
 * they are losses.
 */
size_t waiting_forget(struct waiting *waiting, uint32_t pid);

/*
 * Takes out all, the oldest first; each may be null, and must not use the table. Returns how many.
 */
size_t waiting_empty(struct waiting *waiting,
		     void (*each)(void *context, const struct waiting_half *half), void *context);

/*
 * Calls each() for all of a process, or for all (pid 0), the oldest first; each must not use the
 * table, but may change the place.
 */
void waiting_each(struct waiting *waiting, uint32_t pid,
		  void (*each)(void *context, struct waiting_half *half), void *context);

struct waiting_counts {
	size_t now;	   /* that wait */
	uint64_t evicted;  /* too many waited: the oldest made room; */
	uint64_t replaced; /* another one came with the same key; */
	uint64_t refused;  /* there was no memory for it */
};
struct waiting_counts waiting_counts(const struct waiting *waiting);

#endif
