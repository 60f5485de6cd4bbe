// SPDX-License-Identifier: Apache-2.0
#include "camera/losses.h"

#include <stdbool.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "bpf/capture_abi.h"

struct loss {
	const char *words;
	uint64_t count;
	bool sample;	/* a whole sample, not a part of one */
	bool any_event; /* not bound to one event */
};

/* What the kernel side counted, summed over CPUs. */
static uint64_t kernel_loss(const struct losses_sources *sources, uint32_t reason)
{
	uint64_t *counts = calloc(sources->cpus, sizeof(*counts)), sum = 0;
	unsigned int i;

	if (counts && !bpf_map_lookup_elem(sources->kernel_map, &reason, counts))
		for (i = 0; i < sources->cpus; i++)
			sum += counts[i];
	free(counts);
	return sum;
}

static void take(struct losses_sum *sum, const struct loss *loss, struct film_writer *film,
		 uint32_t event)
{
	*(loss->sample ? &sum->samples : &sum->others) += loss->count;
	if (loss->count && film)
		film_loss(film, loss->any_event ? 0 : event, loss->words, loss->count);
}

struct losses_sum losses_take(const struct losses_sources *sources, struct film_writer *film,
			      uint32_t event)
{
	static const char *const kernel_words[] = {
#define X(name, words) words,
		CAPTURE_LOSSES(X)
#undef X
	};
	const struct samples_statistics *samples = sources->samples;
	const struct loss others[] = {
		{"sample: the process was gone before its control group was known",
		 sources->undecidable, .sample = true},
		{"user stack: the process was gone before it was known", samples->strangers},
		{"unwind table: memory limit reached", samples->tables.no_room, .any_event = true},
		{"unwind table: the file's information is damaged", samples->tables.broken,
		 .any_event = true},
		{"unwind table: reading the file takes more memory or time than any sound one",
		 samples->tables.over_budget, .any_event = true},
		{"mapped file: it could not be opened", samples->unreadable_files,
		 .any_event = true},
		{"process, thread or mapping: too many of them", samples->refused,
		 .any_event = true},
		{"event of a process or mapping: ring full, or no memory", sources->sideband_lost,
		 .any_event = true},
	};
	struct losses_sum sum = {0};
	size_t i;

	for (i = 0; i < CAPTURE_LOSS_COUNT; i++)
		take(&sum,
		     &(struct loss){kernel_words[i], kernel_loss(sources, (uint32_t)i),
				    .sample = i != CAPTURE_LOSS_HANDOVER && i != CAPTURE_LOSS_HOLD},
		     film, event);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		take(&sum, &others[i], film, event);
	return sum;
}
