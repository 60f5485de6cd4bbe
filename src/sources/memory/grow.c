// SPDX-License-Identifier: Apache-2.0
/*
 * mem-grow and file-faults: a perf event on each CPU for each kind of page fault (with and without
 * a disk) calls a BPF program with every N-th of them, which stands for N.
 *
 * What this takes of a program is bounded by the time that it spends in its faults anyway: that the
 * kernel counts them costs about a tenth of that, with perf, too, and a stack as much as two or
 * three faults, so 3/N.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/thread.h"
#include "bpf/memory/grow_abi.h"
#include "attach/perf_events.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

/* Its events, in the order in which source_mem_grow names them. */
enum {
	OF_MEMORY,
	OF_FILES,
};

struct mem_grow {
	struct perf_events events;
};

/* As many faults as a CPU can have in a second, about. */
#define FAULTS_A_SECOND 300000u

static unsigned int period_of(const struct source *source)
{
	return (unsigned int)source->settings->values[0];
}

static unsigned int rate(const struct source *source)
{
	return FAULTS_A_SECOND / period_of(source) + 1;
}

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_BEFORE_EXEC;
}

/* What "always [madvise] never" says. */
static enum mem_grow_huge which_are_huge(void)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	char line[128] = "";

	if (!file)
		return MEM_GROW_HUGE_NEVER; /* this kernel has none */
	if (!fgets(line, sizeof(line), file))
		*line = 0;
	fclose(file);
	if (strstr(line, "[never]"))
		return MEM_GROW_HUGE_NEVER;
	return strstr(line, "[madvise]") ? MEM_GROW_HUGE_IF_ASKED : MEM_GROW_HUGE_ALWAYS;
}

static void prepare(struct source *source)
{
	source->host->probes->rodata->mem_grow_huge = which_are_huge();
}

/* What a fault has brought is not known if that fails: report_sizes() says so. */
static void find_page_tables(const struct source *source)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	bpf_prog_test_run_opts(bpf_program__fd(source->host->probes->progs.mem_grow_find),
			       &options);
}

static int add_on_cpu(void *context, unsigned int cpu, struct fail *why)
{
	static const uint64_t kinds[] = {PERF_COUNT_SW_PAGE_FAULTS_MIN,
					 PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	struct source *source = context;
	struct mem_grow *mem_grow = source->state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct perf_event_attr attr = {
			.size = sizeof(attr),
			.type = PERF_TYPE_SOFTWARE,
			.config = kinds[i],
			.disabled = 1,
			.sample_period = period_of(source),
			.exclude_hv = 1,
		};
		int err = perf_events_add(&mem_grow->events, &attr,
					  source->host->probes->progs.mem_grow, cpu);

		if (err && err != -ENODEV)
			return fail_errno(why, err, "see 'stackcam doctor'",
					  "cannot count page faults");
	}
	return 0;
}

static int attach(struct source *source, struct fail *why)
{
	int err;

	source->state = calloc(1, sizeof(struct mem_grow));
	if (!source->state)
		return fail_errno(why, -ENOMEM, NULL, "cannot count page faults");
	find_page_tables(source);
	err = cpus_each_online(add_on_cpu, source, why);
	if (!err && !((struct mem_grow *)source->state)->events.all.count)
		err = fail_errno(why, -ENODEV, "see 'stackcam doctor'", "cannot count page faults");
	return err;
}

static void report_sizes(struct source *source)
{
	if (!source->host->probes->bss->mem_grow_direct)
		film_loss(source->host->film, source->event,
			  "page tables cannot be read: a page of any size, or of zeros, counts as "
			  "4 KiB",
			  1);
}

static int start(struct source *source, struct fail *why)
{
	const struct mem_grow *mem_grow = source->state;

	report_sizes(source);
	return perf_events_start(&mem_grow->events, why);
}

/* The words that stand on the stack as its last frame; null: none. */
static const char *words_of(uint64_t kind)
{
	switch (kind) {
	case MEM_GROW_HUGE:
		return "[huge page]";
	case MEM_GROW_SHARED:
		return "[shared memory]";
	case MEM_GROW_HUGETLB:
		return "[page of hugetlbfs]";
	case MEM_GROW_UNKNOWN:
		return "[mapping not known]";
	default:
		return NULL;
	}
}

static void handle_fault(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	unsigned int event = identity->key == MEM_GROW_FILE ? OF_FILES : OF_MEMORY;
	const char *words = words_of(identity->key);
	struct samples_place place;

	if (!source->events[event] || !source_is_meant(source, identity))
		return;
	place = samples_resolve(source->host->samples, record, handover);
	if (words && place.stack)
		place.stack = samples_words(source->host->samples, place.stack, words);
	samples_add(source->host->samples, source->events[event], record->head.time, &place,
		    identity->value);
}

static void detach(struct source *source)
{
	struct mem_grow *mem_grow = source->state;

	if (mem_grow)
		perf_events_free(&mem_grow->events);
}

static void free_state(struct source *source)
{
	detach(source);
	free(source->state);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(MEM_GROW_FAULT, handle_fault),
	{0},
};

static const struct source_event events[] = {
	[OF_MEMORY] = {EVENT_MEM_GROW, "page-faults"},
	[OF_FILES] = {EVENT_FILE_FAULTS, "page-faults"},
	{0},
};

static const struct source_option options[] = {
	/* a prime: no loop of a program has its faults in step with it */
	{"fault-period", 0, false, "N",
	 "one stack for each N page faults of a CPU, 1 to 1000000 (default 127)", 1, 1000000, 127},
	{0},
};

const struct source_type source_mem_grow = {
	.events = events,
	.options = options,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.turn = report_sizes,
	.detach = detach,
	.free = free_state,
};
