// SPDX-License-Identifier: Apache-2.0
#include "host/cost.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/own.h"

enum {
	MEASURES = 7, /* every ten seconds: a minute lies between the first and the last */
};

struct measure {
	uint64_t time; /* ns of clock_ns() */
	double cpu_seconds, bpf_seconds;
};

struct cost {
	int timed; /* while it is open, the kernel times BPF programs; -1: it may not be asked to */
	bool has_bpf;
	struct recorder *recorder;
	struct flight *flight;
	pthread_mutex_t lock;		   /* of what follows */
	struct measure measures[MEASURES]; /* a ring */
	unsigned int count;		   /* since the start */
};

static bool is_timed_for_all(void)
{
	FILE *file = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");
	bool is_timed = file && getc(file) == '1';

	if (file)
		fclose(file);
	return is_timed;
}

int cost_new(struct cost **result, struct fail *why)
{
	struct cost *cost = calloc(1, sizeof(*cost));

	*result = cost;
	if (!cost)
		return fail_errno(why, -ENOMEM, NULL, "cannot measure the recorder");
	pthread_mutex_init(&cost->lock, NULL);
	cost->timed = bpf_enable_stats(BPF_STATS_RUN_TIME);
	cost->has_bpf = cost->timed >= 0 || is_timed_for_all();
	return 0;
}

void cost_free(struct cost *cost)
{
	if (!cost)
		return;
	if (cost->timed >= 0)
		close(cost->timed);
	pthread_mutex_destroy(&cost->lock);
	free(cost);
}

void cost_of(struct cost *cost, struct recorder *recorder, struct flight *flight)
{
	cost->recorder = recorder;
	cost->flight = flight;
}

static double bpf_seconds(const struct cost *cost)
{
	struct recorder_state recorder;
	struct flight_state flight;

	recorder_state(cost->recorder, &recorder);
	flight_state(cost->flight, &flight);
	return (double)(recorder.run_ns + flight.run_ns) / 1e9;
}

void cost_measure(struct cost *cost)
{
	struct measure now = {
		.time = clock_ns(),
		.cpu_seconds = own_cpu_seconds() + own_helpers_cpu_seconds(),
		.bpf_seconds = bpf_seconds(cost),
	};

	pthread_mutex_lock(&cost->lock);
	cost->measures[cost->count++ % MEASURES] = now;
	pthread_mutex_unlock(&cost->lock);
}

void cost_now(struct cost *cost, struct cost_figures *figures)
{
	const struct measure *first, *last;
	double seconds;

	*figures = (struct cost_figures){.has_bpf = cost->has_bpf};
	figures->bpf_seconds = bpf_seconds(cost);
	pthread_mutex_lock(&cost->lock);
	if (cost->count > 1) {
		last = &cost->measures[(cost->count - 1) % MEASURES];
		first = &cost->measures[cost->count < MEASURES ? 0 : cost->count % MEASURES];
		seconds = (double)(last->time - first->time) / 1e9;
		figures->bpf = (last->bpf_seconds - first->bpf_seconds) / seconds;
		figures->cpu = (last->cpu_seconds - first->cpu_seconds) / seconds + figures->bpf;
	}
	pthread_mutex_unlock(&cost->lock);
}
