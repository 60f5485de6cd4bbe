// SPDX-License-Identifier: Apache-2.0
#include "record/losses.h"

#include <stdbool.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "bpf/capture/abi.h"

struct loss {
	const char *words;
	uint64_t count;
	uint32_t event;	      /* of the film; 0: not bound to one */
	bool sample;	      /* a whole sample, not a part of one */
	const uint32_t *also; /* SOURCE_ALSO_MAX other events that it befalls; null: none */
};

/* What the kernel side counted, summed over CPUs. */
static uint64_t kernel_loss(const struct losses_counts *counts, uint32_t source, uint32_t reason)
{
	uint64_t *of_cpus = calloc(counts->cpus, sizeof(*of_cpus)), sum = 0;
	uint32_t at = CAPTURE_LOSS_AT(source, reason);
	unsigned int i;

	if (of_cpus && !bpf_map_lookup_elem(counts->kernel_map, &at, of_cpus))
		for (i = 0; i < counts->cpus; i++)
			sum += of_cpus[i];
	free(of_cpus);
	return sum;
}

static void take(struct losses_taken *taken, const struct loss *loss, struct film_writer *film)
{
	if (loss->sample)
		taken->samples += loss->count;
	if (loss->count && film)
		film_loss(film, loss->event, loss->words, loss->count);
	/* a report of any of them has to show it, but it is one loss */
	for (int i = 0; loss->also && i < SOURCE_ALSO_MAX && loss->also[i]; i++) {
		taken->copies += loss->count;
		if (loss->count && film)
			film_loss(film, loss->also[i], loss->words, loss->count);
	}
}

/* Of one source, or of what all of them share. */
static void take_of_source(struct losses_taken *taken, const struct losses_counts *counts,
			   uint32_t number, struct film_writer *film)
{
	enum {
		PART,
		SAMPLE
	};
	static const struct {
		const char *words;
		bool sample;
	} reasons[] = {
#define X(name, costs, words) {words, costs == SAMPLE},
		CAPTURE_LOSSES(X)
#undef X
	};
	const struct source *source = &counts->sources->at[number];
	uint32_t event = source->type ? source->event : sources_event(counts->sources);
	const struct loss others[] = {
		{"sample: the process was gone before its control group was known",
		 source->undecidable, event, true, source->also},
		{"sample: its probe ran already on that CPU, and does not run twice there",
		 sources_skipped(counts->sources, number), event, true, source->also},
		{"user stack: the process was gone before it was known",
		 counts->samples->strangers[number], event, false, source->also},
	};
	uint32_t i;

	for (i = 0; i < CAPTURE_LOSS_COUNT; i++)
		take(taken,
		     &(struct loss){reasons[i].words, kernel_loss(counts, number, i), event,
				    reasons[i].sample, source->also},
		     film);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		take(taken, &others[i], film);
}

struct losses_taken losses_take(const struct losses_counts *counts, struct film_writer *film)
{
	const struct samples_statistics *samples = counts->samples;
	const struct loss shared[] = {
		{"unwind table: memory limit reached", samples->tables.no_room},
		{"unwind table: the file's information is damaged", samples->tables.broken},
		{"unwind table: reading the file takes more memory or time than any sound one",
		 samples->tables.over_budget},
		{"unwind table: made later, as files are read for a part of the time only",
		 samples->tables.put_off},
		{"mapped file: it could not be opened", samples->unreadable_files},
		{"file or memory of a process: its file system did not answer",
		 samples->unanswered},
		{"process, thread or mapping: too many of them", samples->refused},
		{"event of a process or mapping: ring full, or no memory", counts->events_lost},
		{"stack cut: no memory to keep its rest until it could be completed",
		 counts->handovers_dropped},
	};
	struct losses_taken taken = {0};
	uint32_t i;

	for (i = 0; i < CAPTURE_SOURCE_COUNT; i++)
		if (i == CAPTURE_SOURCE_NONE || counts->sources->at[i].type)
			take_of_source(&taken, counts, i, film);
	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		take(&taken, &shared[i], film);
	return taken;
}
