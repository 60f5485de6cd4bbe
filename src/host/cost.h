/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_COST_H
#define HOST_COST_H

#include <stdbool.h>

#include "base/fail.h"
#include "host/flight.h"
#include "host/recorder.h"

/*
 * What a process that records takes of the machine's CPUs: all of its threads, those that answer
 * questions, too; the children that it has awaited; and what its BPF programs run in the kernel,
 * which belong to no process. The kernel times these only while it is asked to: from cost_new() on
 * (BPF_ENABLE_STATS, which takes CAP_SYS_ADMIN: before privileges are dropped), or all the time
 * (kernel.bpf_stats_enabled). That costs each BPF program of the machine some 40 ns a run.
 */
struct cost;

int cost_new(struct cost **cost, struct fail *why);
void cost_free(struct cost *cost); /* null is allowed */

/* Whose programs count; null: there is none. They must live as long. Before cost_measure(). */
void cost_of(struct cost *cost, struct recorder *recorder, struct flight *flight);

/* To be called some times a minute, by one thread. */
void cost_measure(struct cost *cost);

struct cost_figures {
	double cpu;	    /* cores kept busy in about the last minute: 0.01 is 1 % of one */
	double bpf;	    /* of cpu: what BPF programs have run */
	double bpf_seconds; /* the same, since the start */
	bool has_bpf;	    /* false: the kernel does not time them, and they are in no figure */
};

/* From any thread. */
void cost_now(struct cost *cost, struct cost_figures *figures);

#endif
