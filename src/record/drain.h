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
 * Merges the records of the probes and the kernel's process events in order of time, and dispatches
 * them: events to samples, records to their sources.
 */
struct drain;

/* The caller owns all parts, which must outlive the drain. */
struct drain_parts {
	struct rings *rings;
	struct sideband *sideband;
	struct sources *sources;
	struct samples *samples;
	/* end of the recording, by clock_ns(); 0: not known yet */
	const volatile unsigned long long *until;
};

int drain_new(const struct drain_parts *parts, struct drain **drain);
void drain_free(struct drain *drain);

/*
 * Sets the arrivals whose held processes must be released soon while records are drained; null: no
 * process is held.
 */
void drain_for(struct drain *drain, struct arrivals *arrivals);

/*
 * Handles everything up to the time now. If the recording ends meanwhile, the rest is left for the
 * next call, so that the caller can detach the probes first.
 */
int drain_step(struct drain *drain, uint64_t now, struct fail *why);

/* Number of lost process events since the start; 0 for null. */
uint64_t drain_events_lost(const struct drain *drain);

#endif
