/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_LOSSES_H
#define RECORD_LOSSES_H

#include <stdint.h>

#include "resolve/samples.h"
#include "record/sources.h"
#include "film/loss_table.h"
#include "film/writer.h"

/* Collects the losses of a recording from all counters, and writes them with their reasons. */
struct losses_counts {
	int kernel_map;		       /* bpf/capture/maps.h: capture_losses */
	unsigned int cpus;	       /* number of possible CPUs */
	const struct sources *sources; /* each has losses of its own events */
	uint64_t events_lost;	       /* lost events of processes and mappings */
	uint64_t handovers_dropped;    /* rings_aside() */
	const struct samples_statistics *samples;
};

/* Sums of the losses so far. */
struct losses_sums {
	uint64_t samples; /* samples that are not in the film */
	/* losses that the film has more than once, because several events share them */
	uint64_t copies;
};

/* Writes each loss to film, unless that is null, and sets table, which is of no film. */
struct losses_sums losses_write(const struct losses_counts *counts, struct film_writer *film,
				struct loss_table *table);

#endif
