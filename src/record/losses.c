// SPDX-License-Identifier: Apache-2.0
#include "record/losses.h"

#include <stdbool.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "bpf/capture/abi.h"

struct loss {
	const char *source, *words; /* static */
	uint64_t count;
	uint32_t event;		 /* of the film; 0: not bound to one */
	bool sample;		 /* a whole sample, not a part of one */
	const struct source *of; /* which lost it: all its events did; null: none */
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

/* Where losses go. */
struct ledger {
	struct losses_sums taken;
	struct film_writer *film; /* null: none */
	struct loss_table *table;
};

static void write_loss(struct ledger *to, const struct loss *loss)
{
	struct losses_sums *taken = &to->taken;
	struct film_writer *film = to->film;

	loss_table_set(to->table, loss->source, loss->words, loss->count);
	if (loss->sample)
		taken->samples += loss->count;
	if (loss->count && film)
		film_loss(film, loss->event, loss->words, loss->count);
	/* a report of any of them has to show it, but it is one loss */
	for (int i = 0; loss->of && i < SOURCE_EVENTS_MAX; i++) {
		const uint32_t event = loss->of->events[i];

		if (!event || event == loss->event)
			continue;
		taken->copies += loss->count;
		if (loss->count && film)
			film_loss(film, event, loss->words, loss->count);
	}
}

/* Of one source, or of what all of them share. */
static void write_of_source(struct ledger *to, const struct losses_counts *counts, uint32_t number)
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
	const char *name = sources_name(number);
	const struct loss others[] = {
		{name, "sample: the process was gone before its control group was known",
		 source->undecidable, event, true, source},
		{name, "sample: its probe ran already on that CPU, and does not run twice there",
		 sources_skipped(counts->sources, number), event, true, source},
		{name, "sample: its record is damaged", source->damaged, event, true, source},
		{name, "user stack: the process was gone before it was known",
		 counts->samples->strangers[number], event, false, source},
	};
	uint32_t i;

	for (i = 0; i < CAPTURE_LOSS_COUNT; i++)
		write_loss(to,
			   &(struct loss){name, reasons[i].words, kernel_loss(counts, number, i),
					  event, reasons[i].sample, source});
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		write_loss(to, &others[i]);
}

struct losses_sums losses_write(const struct losses_counts *counts, struct film_writer *film,
				struct loss_table *table)
{
	const struct samples_statistics *samples = counts->samples;
	const char *all = sources_name(CAPTURE_SOURCE_NONE);
	const struct loss shared[] = {
		{all, "unwind table: memory limit reached", samples->tables.no_room},
		{all, "unwind table: the file's information is damaged", samples->tables.broken},
		{all, "unwind table: reading the file takes more memory or time than any sound one",
		 samples->tables.over_budget},
		{all, "unwind table: made later, as files are read for a part of the time only",
		 samples->tables.put_off},
		{all, "mapped file: it could not be opened", samples->unreadable_files},
		{all, "file or memory of a process: its file system did not answer",
		 samples->unanswered},
		{all, "process, thread or mapping: too many of them", samples->refused},
		{all, "event of a process or mapping: ring full, or no memory",
		 counts->events_lost},
		{all, "stack cut: no memory to keep its rest until it could be completed",
		 counts->handovers_dropped},
	};
	struct ledger to = {.film = film, .table = table};
	uint32_t i;

	loss_table_begin(table);
	for (i = 0; i < CAPTURE_SOURCE_COUNT; i++)
		if (i == CAPTURE_SOURCE_NONE || counts->sources->at[i].type)
			write_of_source(&to, counts, i);
	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		write_loss(&to, &shared[i]);
	return to.taken;
}
