/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_PERF_EVENTS_H
#define ATTACH_PERF_EVENTS_H

#include <linux/perf_event.h>

#include <bpf/libbpf.h>

#include "base/fail.h"
#include "base/vec.h"

/* Perf events, each on a CPU, that call a BPF program. */
struct perf_event {
	int fd;
	struct bpf_link *link; /* owns fd */
};

struct perf_events {
	vec(struct perf_event) all;
};

/*
 * Adds one on a CPU; it counts nothing before perf_events_start(). Returns 0, or a negative errno:
 * -ENODEV if the CPU is offline.
 */
int perf_events_add(struct perf_events *events, struct perf_event_attr *attr,
		    const struct bpf_program *program, unsigned int cpu);

/* From now on they count. Returns 0, or a negative errno with *why filled. */
int perf_events_start(const struct perf_events *events, struct fail *why);

/* Ends all of them. */
void perf_events_free(struct perf_events *events);

#endif
