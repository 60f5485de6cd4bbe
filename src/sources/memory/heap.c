// SPDX-License-Identifier: Apache-2.0
/*
 * mem-alloc and mem-inuse: what programs allocate and hold, of those that libstackcam-memory.so was
 * loaded into. The library chooses samples (inject/memory.c); here each becomes what it stands for:
 * an allocation of s bytes is a sample with a probability of 1 - exp(-s / interval), and stands for
 * s divided by that.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "../inject/memory_places.h"
#include "base/clock.h"
#include "bpf/memory/heap_abi.h"
#include "sources/loss_counts.h"
#include "sources/memory/heap_state.h"
#include "sources/memory/record.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

/* As many samples as a CPU can have in a second, about: 2 GB/s by 512 KiB. */
#define RATE 4000

static uint64_t interval_of(const struct source_settings *settings)
{
	return settings->values[INTERVAL];
}

static int command(struct source_settings *settings, struct command_environment *environment,
		   struct fail *why)
{
	struct command_variable *variable = &environment->at[environment->count];
	struct mem_library library;
	int err = mem_library_find(&library, MEMORY_LIBRARY, why);

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
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_BEFORE_EXEC | SOURCE_PROCESSES;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static struct uprobe_programs programs_of(const struct source *source)
{
	return (struct uprobe_programs){.site = source->host->probes->progs.mem_heap_site};
}

static void prepare(struct source *source)
{
	const struct uprobe_programs programs = programs_of(source);

	uprobes_prepare(&programs, NULL);
	mem_probes_prepare(source->host->probes, interval_of(source->settings));
	mem_otel_prepare(source->host->probes);
}

static bool may_ask_jvms(const struct source *source)
{
	return source->settings->values[JAVA] && source_wants(source, OF_INUSE) &&
	       mem_heap_has_chosen(source);
}

/*
 * Processes that are named run already; others may come with the library, or with an allocator of
 * their own.
 */
static int prepare_running(struct source *source, struct fail *why)
{
	struct mem_heap *heap = source->state;
	int err;

	if (!mem_heap_has_chosen(source))
		return 0;
	err = mem_probes_new(source->host->probes, MEM_PLACES_MALLOC,
			     (unsigned int)source->settings->values[BUDGET], &heap->probes);
	if (!err && interval_of(source->settings) > 1 && source->host->selection->pid_count)
		err = mem_inject_new(&heap->library, source->host->far,
				     interval_of(source->settings), &heap->inject);
	return err ? fail_errno(why, err, NULL, "cannot record allocations") : 0;
}

/* The library is there from its first instruction on wherever it is loaded, and nowhere else. */
static int attach(struct source *source, struct fail *why)
{
	const struct uprobe_programs programs = programs_of(source);
	struct mem_heap *heap = source->state = calloc(1, sizeof(*heap));
	int err;

	if (!heap)
		return fail_errno(why, -ENOMEM, NULL, "cannot record allocations");
	heap->is_starting = true;
	err = mem_library_find(&heap->library, MEMORY_LIBRARY, why);
	if (err)
		return err;
	heap->strangers = mem_strangers_new();
	if (!heap->strangers || mem_live_new(&heap->live) ||
	    mem_seen_new(&heap->library, &heap->seen) || mem_go_new(&heap->go) ||
	    mem_otel_new(source->host->probes, &heap->otel) ||
	    mem_java_new(source->host->probes, (unsigned int)source->settings->values[BUDGET],
			 source->host->selection->whole_machine, &heap->java))
		return fail_errno(why, -ENOMEM, NULL, "cannot record allocations");
	err = prepare_running(source, why);
	if (err)
		return err;
	err = uprobes_new(&programs, NULL, &heap->uprobes);
	if (err)
		return fail_errno(why, err, NULL, "cannot record allocations");
	err = uprobes_attach(heap->uprobes, heap->library.path, 0, heap->library.places,
			     heap->library.count, why);
	return err ? err
		   : mem_jvmti_new(heap->uprobes,
				   may_ask_jvms(source) ? interval_of(source->settings) : 0,
				   &heap->jvmti, why);
}

static int start(struct source *source, struct fail *why)
{
	struct mem_heap *heap = source->state;

	(void)why;
	heap->begun = clock_ns();
	heap->since = source->host->selection->command ? 0 : clock_ns();
	mem_go_turn(heap->go);
	mem_seen_start(heap->seen, !source->host->selection->command);
	source_follow_selected(source);
	if (source->host->selection->whole_machine && source->events[OF_ALLOC])
		mem_java_find(heap->java, source->host->samples);
	heap->is_starting = false;
	for (size_t i = 0; heap->probes && i < source->host->selection->pid_count; i++)
		mem_heap_start_running(source, source->host->selection->pids[i]);
	mem_jvmti_tick(heap->jvmti, source->host->film, source->events[OF_INUSE]);
	return 0;
}

static void handle_alloc(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	uint64_t interval = 0;
	struct mem_heap *heap = source->state;
	struct waiting_half half = {.key = identity->key, .pid = identity->pid};

	if (!mem_record_words(record, &interval, 1) || !interval)
		source->damaged++;
	if (!interval || !source_is_meant(source, identity))
		return;
	half.time = record->head.time;
	half.value = mem_record_weight(identity->value & ~MEM_HEAP_UNFOLLOWED, interval);
	half.place = samples_resolve(source->host->samples, record, handover);
	mem_seen_record(heap->seen, source->host->samples, (pid_t)identity->pid);
	if (source->events[OF_ALLOC])
		samples_add(source->host->samples, source->events[OF_ALLOC], half.time, &half.place,
			    half.value);
	/* of one that has probes, only that it was allocated is known */
	if (!source->events[OF_INUSE] || !identity->key)
		return;
	if (identity->value & MEM_HEAP_UNFOLLOWED) {
		heap->unfollowed++;
	} else {
		mem_live_allocated(heap->live, source->host->samples, source->host->film,
				   source->events[OF_INUSE], heap->begun, &half);
	}
}

/*
 * One that is not known was allocated before the recording, or by the parent of a process that was
 * forked, which still has it.
 */
static void handle_free(struct source *source, const void *of)
{
	const struct mem_heap_free *record = of;
	struct mem_heap *heap = source->state;

	if (!record->is_kept)
		mem_live_remove(heap->live, record->pid, record->address);
	else if (source->events[OF_INUSE])
		mem_live_keep(heap->live, record->pid, record->address);
}

static void handle_object(struct source *source, const struct capture_record *record,
			  const struct capture_handover *handover)
{
	struct mem_heap *heap = source->state;

	if (source_is_meant(source, &record->identity))
		mem_java_handle(heap->java, source->host->samples, source->events[OF_ALLOC], record,
				handover);
}

static void handle_held(struct source *source, const struct capture_record *record,
			const struct capture_handover *handover)
{
	struct mem_heap *heap = source->state;

	if (source->events[OF_INUSE] && source_is_meant(source, &record->identity))
		mem_jvmti_handle(heap->jvmti, source->host->samples, heap->live, record, handover);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

/* What is not known of memory in use; of allocations it is. */
static void report_left_out(const struct source *source)
{
	const struct mem_heap *heap = source->state;
	const struct waiting_counts counts = mem_live_counts(heap->live);
	const struct loss_count losses[] = {
		{"memory in use left out: the program held too many samples, or its interpreter "
		 "has another allocator of small objects",
		 heap->unfollowed},
		{"memory in use left out: the recorder held too many samples", counts.evicted},
		{"memory in use left out: no memory", counts.refused},
	};

	loss_counts_emit_all(source->host->film, source->events[OF_INUSE], losses);
}

static void report_losses(struct source *source)
{
	const struct mem_heap *heap = source->state;
	const struct loss_count losses[] = {
		{"allocations of a process not seen until it had probes: it is linked statically, "
		 "or its program brings its own malloc()",
		 heap->late},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
	if (source->events[OF_INUSE])
		report_left_out(source);
	if (heap->is_probed && source->events[OF_INUSE])
		film_loss(source->host->film, source->events[OF_INUSE],
			  "memory in use of a process not known: its free() is not probed", 1);
	if (heap->inject)
		mem_inject_report(heap->inject, source->host->film, source->event);
	if (heap->probes)
		mem_probes_report(heap->probes, source->host->film, source->event);
	if (heap->spans && heap->by_spans && source->events[OF_ALLOC]) {
		mem_probes_report(heap->spans, source->host->film, source->events[OF_ALLOC]);
		film_loss(
			source->host->film, source->events[OF_ALLOC],
			"allocations of a program of Go seen by the spans that it takes: what will "
			"be in a span counts as its first object's",
			heap->by_spans);
	}
	if (source->events[OF_ALLOC])
		mem_java_report(heap->java, source->host->film, source->events[OF_ALLOC]);
	if (source->events[OF_INUSE])
		mem_jvmti_report(heap->jvmti, source->host->film, source->events[OF_INUSE]);
	mem_otel_report(heap->otel, source->host->film, source->event);
	/* of both events */
	mem_go_report(heap->go, source->host->film, 0);
	mem_seen_report(heap->seen, source->host->film, 0, source->events[OF_INUSE] != 0);
}

static void report_inuse(struct source *source, uint64_t now)
{
	struct mem_heap *heap = source->state;

	if (source->events[OF_INUSE])
		mem_live_report(heap->live, source->host->film, source->events[OF_INUSE], now);
}

static void read_go(struct source *source, uint64_t now, bool all)
{
	struct mem_heap *heap = source->state;
	const struct mem_go_film to = {
		source->host->samples,	  source->host->film, source->events[OF_ALLOC],
		source->events[OF_INUSE], heap->since,	      heap->begun};

	mem_go_read(heap->go, &to, now, all);
}

static void tick(struct source *source, uint64_t now)
{
	struct mem_heap *heap = source->state;

	read_go(source, now, false);
	mem_heap_probe_spans(source);
	if (heap->inject)
		mem_inject_tick(heap->inject);
	mem_jvmti_tick(heap->jvmti, source->host->film, source->events[OF_INUSE]);
	if (source->events[OF_INUSE])
		mem_live_tick(heap->live, source->host->film, source->events[OF_INUSE], now);
	report_losses(source);
}

/* Probes that have taken as much as they may go at once. */
static void drained(struct source *source, uint64_t now)
{
	struct mem_heap *heap = source->state;

	(void)now;
	mem_java_balance(heap->java, clock_ns());
	if (heap->probes)
		mem_probes_balance(heap->probes, clock_ns());
	if (heap->spans)
		mem_probes_balance(heap->spans, clock_ns());
}

static void closing(struct source *source)
{
	if (source->last)
		report_inuse(source, source->last);
	read_go(source, clock_ns(), true);
	report_losses(source);
}

static void finish(struct source *source, uint64_t now)
{
	report_inuse(source, now);
	read_go(source, now, true);
	report_losses(source);
}

static void turn(struct source *source)
{
	struct mem_heap *heap = source->state;

	heap->begun = clock_ns();
	mem_go_turn(heap->go);
	if (source->events[OF_INUSE])
		mem_live_turn(heap->live, source->host->samples, source_first_thread, source);
}

static void detach(struct source *source)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->inject)
		mem_inject_retract(heap->inject);
	if (heap && heap->jvmti)
		mem_jvmti_retract(heap->jvmti);
	if (heap && heap->uprobes)
		uprobes_free(heap->uprobes);
	if (heap)
		heap->uprobes = NULL;
	if (heap && heap->probes)
		mem_probes_detach(heap->probes);
	if (heap && heap->spans)
		mem_probes_detach(heap->spans);
	if (heap && heap->java)
		mem_java_detach(heap->java);
	if (heap && heap->otel)
		mem_otel_detach(heap->otel);
}

static void free_state(struct source *source)
{
	struct mem_heap *heap = source->state;

	detach(source);
	if (heap) {
		mem_live_free(heap->live);
		mem_seen_free(heap->seen);
		mem_strangers_free(heap->strangers);
		mem_go_free(heap->go);
		mem_java_free(heap->java);
		mem_jvmti_free(heap->jvmti);
		mem_otel_free(heap->otel);
		mem_probes_free(heap->probes);
		mem_probes_free(heap->spans);
		mem_inject_free(heap->inject);
	}
	free(heap);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(MEM_HEAP_ALLOC, handle_alloc),
	SOURCE_RECORD(MEM_HEAP_FREE, mem_heap_free, handle_free),
	/* it wakes the recorder, which looks at the counters then */
	SOURCE_RECORD(MEM_HEAP_SPENT, capture_head, source_ignore),
	SOURCE_RECORD_WITH_STACK(MEM_HEAP_OBJECT, handle_object),
	SOURCE_RECORD_WITH_STACK(MEM_HEAP_HELD, handle_held),
	{0},
};

static const struct source_event events[] = {
	[OF_ALLOC] = {EVENT_MEM_ALLOC, "sampled by bytes"},
	[OF_INUSE] = {EVENT_MEM_INUSE, "sampled by bytes"},
	{0},
};

static const struct source_option options[] = {
	{"mem-interval", 0, false, "BYTES",
	 "of mem-alloc and mem-inuse: mean bytes between samples, 1 to 1073741824 (default "
	 "524288); 1: each "
	 "allocation is one",
	 1, 1 << 30, MEMORY_INTERVAL_USUAL},
	{"mem-budget", 0, false, "PERCENT",
	 "of mem-alloc -p: of a CPU's time that probes in malloc() may take, 1 to 100 (default 2)",
	 1, 100, 2},
	{"mem-inject", 0, false, "0|1",
	 "of mem-inuse -p: whether the library is put into the process (default 1)", 0, 1, 1},
	{"mem-java", 0, false, "0|1",
	 "of mem-inuse: whether JVMs load an agent that reports what is in use of Java's heap "
	 "(default 0)",
	 0, 1, 0},
	{0},
};

const struct source_type source_mem_heap = {
	.events = events,
	.options = options,
	.command = command,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.detach = detach,
	.finish = finish,
	.free = free_state,
	.images.arrived = mem_heap_image_new,
	.processes.gone = mem_heap_process_gone,
	.processes.ended = mem_heap_process_ended,
};
