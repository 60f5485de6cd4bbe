// SPDX-License-Identifier: Apache-2.0
/*
 * mem-alloc: what programs allocate, of those that libstackcam-memory.so was loaded into. The
 * library chooses samples (inject/memory.c); here each becomes what it stands for: an allocation of
 * s bytes is a sample with a probability of 1 - exp(-s / interval), and stands for s divided by
 * that.
 */
#include "camera/source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "../inject/memory_places.h"
#include "bpf/mem_heap_abi.h"
#include "camera/mem_library.h"
#include "camera/uprobes.h"
#include "film/events.h"
#include "probes.skel.h"

/* As many samples as a CPU can have in a second, about: 2 GB/s by 512 KiB. */
#define RATE 4000

struct mem_heap {
	struct mem_library library;
	struct uprobes *uprobes;
	uint32_t alloc; /* the event of the film */
	uint64_t damaged;
};

static uint64_t interval_of(const struct source_settings *settings)
{
	return settings->values[0];
}

static int command(const struct source_settings *settings, struct command_environment *environment,
		   struct fail *why)
{
	struct command_variable *variable = &environment->at[environment->count];
	struct mem_library library;
	int err = mem_library_find(&library, why);

	if (err)
		return err;
	environment->count += 2;
	*variable = (struct command_variable){.name = "LD_PRELOAD", .is_list = true};
	snprintf(variable->value, sizeof(variable->value), "%s", library.path);
	*++variable = (struct command_variable){.name = MEMORY_INTERVAL_VARIABLE};
	snprintf(variable->value, sizeof(variable->value), "%llu",
		 (unsigned long long)interval_of(settings));
	return 0;
}

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_BEFORE_EXEC;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	return rings_bytes_for_samples(rate(source), cpus);
}

static struct uprobe_programs programs_of(const struct source *source)
{
	return (struct uprobe_programs){.site = source->host->probes->progs.mem_heap_site};
}

static void prepare(struct source *source)
{
	const struct uprobe_programs programs = programs_of(source);
	struct uprobe_ways ways;

	uprobe_ways_probe(&ways);
	uprobes_prepare(&programs, &ways);
}

/* The library is there from its first instruction on wherever it is loaded, and nowhere else. */
static int attach(struct source *source, struct fail *why)
{
	const struct uprobe_programs programs = programs_of(source);
	struct mem_heap *heap = source->state = calloc(1, sizeof(*heap));
	struct uprobe_ways ways;
	int err;

	if (!heap)
		return fail_errno(why, -ENOMEM, NULL, "cannot record allocations");
	err = mem_library_find(&heap->library, why);
	if (err)
		return err;
	uprobe_ways_probe(&ways);
	err = uprobes_new(&programs, &ways, &heap->uprobes);
	if (err)
		return fail_errno(why, err, NULL, "cannot record allocations");
	return uprobes_attach(heap->uprobes, heap->library.path, 0, heap->library.places,
			      heap->library.count, why);
}

static void add_events(struct source *source)
{
	struct film_event event = event_from(EVENT_MEM_ALLOC, "libstackcam-memory");
	struct mem_heap *heap = source->state;

	source->event = heap->alloc = film_add_event(source->host->film, &event);
}

static int start(struct source *source, struct fail *why)
{
	(void)why;
	add_events(source);
	return 0;
}

/* What is behind a record's frames; 0: the record is damaged. */
static uint64_t interval_behind(const struct capture_record *record)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;

	if (record->head.size != sizeof(*record) + (frames + 1) * sizeof(uint64_t))
		return 0;
	return ((const uint64_t *)(record + 1))[frames];
}

/* What a sampled allocation stands for. */
static uint64_t weight_of(uint64_t bytes, uint64_t interval)
{
	if (interval == 1)
		return bytes;
	return (uint64_t)((double)bytes / -expm1(-(double)bytes / (double)interval) + 0.5);
}

static void take_alloc(struct source *source, const struct capture_record *record,
		       const struct capture_handover *handover)
{
	uint64_t interval = interval_behind(record), weight;
	struct mem_heap *heap = source->state;
	struct samples_place place;

	heap->damaged += !interval;
	if (!interval || !source_is_meant(source, &record->identity))
		return;
	place = samples_resolve(source->host->samples, record, handover);
	weight = weight_of(record->identity.value & ~MEM_HEAP_UNFOLLOWED, interval);
	samples_add(source->host->samples, heap->alloc, record->head.time, &place, weight);
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	if (head->kind == MEM_HEAP_ALLOC)
		take_alloc(source, (const struct capture_record *)head, handover);
}

static void detach(struct source *source)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->uprobes)
		uprobes_free(heap->uprobes);
	if (heap)
		heap->uprobes = NULL;
}

static void free_state(struct source *source)
{
	detach(source);
	free(source->state);
}

static const char *const events[] = {"mem-alloc", NULL};

static const struct source_option options[] = {
	{"mem-interval", 0, false, "BYTES",
	 "of mem-alloc: mean bytes between samples, 1 to 1073741824 (default 524288); 1: each "
	 "allocation is one",
	 1, 1 << 30, MEMORY_INTERVAL_USUAL},
	{0},
};

const struct source_type source_mem_heap = {
	.events = events,
	.options = options,
	.command = command,
	.needs = needs,
	.rate = rate,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.take = take,
	.turn = add_events,
	.detach = detach,
	.free = free_state,
};
