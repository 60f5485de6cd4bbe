/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_THREADS_LOGS_H
#define SOURCES_SCHED_THREADS_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/sched/threads_abi.h"

/* The logs of switches of all CPUs (bpf/sched/threads_abi.h), read as one in order of time. */
struct probes;
struct threads_logs;

/* A record, with what stands behind it. */
struct threads_event {
	uint64_t time;
	bool is_waking; /* of record only next counts, which is woken */
	uint16_t cpu;
	struct threads_switch record;
	uint64_t ready;	 /* ns, the whole time */
	uint32_t object; /* if its flags say so; of a waking what is ready, as far as known */
	uint64_t arguments[THREADS_CALL_ARGUMENTS]; /* if its flags say so */
};

/*
 * Before the programs are loaded: says how large the logs are, on that many CPUs. most: bytes of
 * each; 0: no limit but that of all together.
 */
void threads_logs_prepare(struct probes *probes, unsigned int cpus, uint32_t most);

/* Afterwards. */
int threads_logs_new(struct probes *probes, struct threads_logs **logs, struct fail *why);
/*
 * The same of memory from mmap(2): that many logs side by side, each with a power of two of words.
 * Returns 0 or -ENOMEM; then the memory stays the caller's.
 */
int threads_logs_in(void *area, size_t size, unsigned int count, struct threads_logs **logs);
void threads_logs_free(struct threads_logs *logs); /* null is allowed */

/* The earliest record whose time is at most until. False: there is none. */
bool threads_logs_next(struct threads_logs *logs, uint64_t until, struct threads_event *event);

/* How many records had no room, or were damaged, by now. */
uint64_t threads_logs_lost(const struct threads_logs *logs);

#endif
