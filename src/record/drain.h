/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_DRAIN_H
#define RECORD_DRAIN_H

#include <stdint.h>

#include "base/fail.h"
#include "record/arrivals.h"
#include "attach/rings.h"
#include "resolve/samples.h"
#include "record/sources.h"
#include "process/sideband.h"

/*
 * Brings what the probes found and what the kernel tells of processes into one order of time, and
 * gives each to whom it concerns: events to samples, records to their sources.
 */
struct drain;

/* All of them stay the caller's, and live as long as the drain. */
struct drain_parts {
	struct rings *rings;
	struct sideband *sideband;
	struct sources *sources;
	struct samples *samples;
	/* when the recording ends, of clock_ns(); 0: not known yet */
	const volatile unsigned long long *until;
};

int drain_new(const struct drain_parts *parts, struct drain **drain);
void drain_free(struct drain *drain);

/*
 * From here on processes are held until their probes are set, and must not wait for long; null:
 * none are.
 */
void drain_for(struct drain *drain, struct arrivals *arrivals);

/*
 * Takes all that happened up to now. If the recording's end comes meanwhile, the rest stays for the
 * next time, so that the probes can be taken out before.
 */
int drain_take(struct drain *drain, uint64_t now, struct fail *why);

/* Events of processes that were lost, since the start; null: 0. */
uint64_t drain_events_lost(const struct drain *drain);

#endif
