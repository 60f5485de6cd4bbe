/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_LOSSES_H
#define RECORD_LOSSES_H

#include <stdint.h>

#include "resolve/samples.h"
#include "record/sources.h"
#include "film/writer.h"

/* All that recording can lose, from wherever it is counted, under the words that the film keeps. */
struct losses_counts {
	int kernel_map;		       /* bpf/capture/maps.h: capture_losses */
	unsigned int cpus;	       /* possible ones */
	const struct sources *sources; /* each loses samples of its own events */
	uint64_t events_lost;	       /* of processes and mappings */
	uint64_t handovers_dropped;    /* rings_aside() */
	const struct samples_statistics *samples;
};

/* What was lost so far. */
struct losses_taken {
	uint64_t samples; /* that are not in the film at all */
	uint64_t copies;  /* what the film says once more, of a loss that befalls several events */
};

/* Writes each loss to the film, if it is not null. */
struct losses_taken losses_take(const struct losses_counts *counts, struct film_writer *film);

#endif
