/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_PERF_EVENTS_H
#define ATTACH_PERF_EVENTS_H

#include <linux/perf_event.h>

#include <bpf/libbpf.h>

#include "base/fail.h"
#include "base/vec.h"

/* Perf events, one per CPU, that run a BPF program. */
struct perf_event {
	int fd;
	struct bpf_link *link; /* owns fd */
};

struct perf_events {
	vec(struct perf_event) all;
};

/*
 * Adds an event on a CPU, disabled until perf_events_start(). Returns 0 or a negative errno;
 * -ENODEV: the CPU is offline.
 */
int perf_events_add(struct perf_events *events, struct perf_event_attr *attr,
		    const struct bpf_program *program, unsigned int cpu);

/* Enables all events. Returns 0 or a negative errno with *why filled. */
int perf_events_start(const struct perf_events *events, struct fail *why);

/* Closes all events. */
void perf_events_free(struct perf_events *events);

#endif
