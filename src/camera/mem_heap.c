// SPDX-License-Identifier: Apache-2.0
/*
 * mem-alloc and mem-inuse: what programs allocate and hold, of those that libstackcam-memory.so was
 * loaded into. The library chooses samples (inject/memory.c); here each becomes what it stands for:
 * an allocation of s bytes is a sample with a probability of 1 - exp(-s / interval), and stands for
 * s divided by that.
 */
#include "camera/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "../inject/memory_places.h"
#include "base/clock.h"
#include "bpf/mem_heap_abi.h"
#include "camera/losses.h"
#include "camera/mem_go.h"
#include "camera/mem_inject.h"
#include "camera/mem_java.h"
#include "camera/mem_library.h"
#include "camera/mem_live.h"
#include "camera/mem_otel.h"
#include "camera/mem_probes.h"
#include "camera/mem_record.h"
#include "camera/mem_seen.h"
#include "camera/uprobes.h"
#include "film/events.h"
#include "probes.skel.h"

/* As many samples as a CPU can have in a second, about: 2 GB/s by 512 KiB. */
#define RATE 4000

/* Its events, in the order in which source_mem_heap names them. */
enum {
	OF_ALLOC,
	OF_INUSE,
	EVENTS
};

struct mem_heap {
	struct mem_library library;
	struct uprobes *uprobes;
	struct mem_live *live;
	struct mem_seen *seen;
	struct mem_go *go;
	struct mem_java *java;
	struct mem_otel *otel;
	struct mem_probes *probes; /* of processes that run already; null: there are none */
	struct mem_inject *inject; /* the same with the library; null: it is not to be */
	uint64_t since;		   /* when the recording began */
	uint32_t of_film[EVENTS];  /* 0: it was not asked for */
	uint64_t last;		   /* time of the last record */
	uint64_t damaged, unfollowed;
	bool is_probed;	  /* some process runs without the library, and has probes */
	bool is_starting; /* which way each process is to be seen is not known yet */
};

/* Its options. */
enum {
	INTERVAL,
	BUDGET,
	INJECT
};

static uint64_t interval_of(const struct source_settings *settings)
{
	return settings->values[INTERVAL];
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
	return SOURCE_STACKS | SOURCE_BEFORE_EXEC | SOURCE_PROCESSES;
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
	mem_probes_prepare(source->host->probes, interval_of(source->settings));
	mem_otel_prepare(source->host->probes);
}

/*
 * What is in use is known only with the library. One that is there already is used in any case; but
 * every allocation would be too much for it.
 */
static bool may_inject(const struct source *source, pid_t pid)
{
	const struct mem_heap *heap = source->state;

	return heap->inject &&
	       ((source->settings->values[INJECT] && source_wants(source, OF_INUSE)) ||
		mem_inject_is_there(heap->inject, pid));
}

/* Processes that are named run already; others may come with the library. */
static int prepare_running(struct source *source, struct fail *why)
{
	struct mem_heap *heap = source->state;
	int err;

	if (!source->host->selection->pid_count)
		return 0;
	err = mem_probes_new(source->host->probes, MEM_PLACES_MALLOC,
			     (unsigned int)source->settings->values[BUDGET], &heap->probes);
	if (!err && interval_of(source->settings) > 1)
		err = mem_inject_new(&heap->library, interval_of(source->settings), &heap->inject);
	return err ? fail_errno(why, err, NULL, "cannot record allocations") : 0;
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
	heap->is_starting = true;
	err = mem_library_find(&heap->library, why);
	if (err)
		return err;
	if (mem_live_new(&heap->live) || mem_seen_new(&heap->library, &heap->seen) ||
	    mem_go_new(&heap->go) || mem_otel_new(source->host->probes, &heap->otel) ||
	    mem_java_new(source->host->probes, (unsigned int)source->settings->values[BUDGET],
			 &heap->java))
		return fail_errno(why, -ENOMEM, NULL, "cannot record allocations");
	err = prepare_running(source, why);
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
	static const enum event_id ids[EVENTS] = {EVENT_MEM_ALLOC, EVENT_MEM_INUSE};
	struct mem_heap *heap = source->state;

	source_add_events(source, ids, EVENTS, "sampled by bytes", heap->of_film);
}

static void probe(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;

	if (!mem_probes_image(heap->probes, pid, image))
		return;
	mem_seen_otherwise(heap->seen, pid);
	heap->is_probed = true;
}

/* A program that takes its own samples is believed, where it has no library that takes others. */
static bool take_otel(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;

	if (mem_seen_has_library(heap->seen, source->host->samples, pid) ||
	    !mem_otel_image(heap->otel, pid, image))
		return false;
	mem_seen_otherwise(heap->seen, pid);
	return true;
}

static bool has_otel(struct source *source, const struct process *process)
{
	bool has = false;

	for (size_t i = 0; i < process->mapping_count; i++)
		has |= take_otel(source, process->pid, process->mappings[i].image);
	return has;
}

/* Puts the library into a process that runs, if it may be, or probes. */
static void start_running(struct source *source, pid_t pid)
{
	struct mem_heap *heap = source->state;
	const struct process *process = samples_process(source->host->samples, pid);
	char words[640];
	struct fail why = {0};

	if (mem_go_has(heap->go, pid) || !process || has_otel(source, process))
		return;
	if (may_inject(source, pid)) {
		int err = mem_inject_put(heap->inject, pid, &why);

		if (!err)
			mem_seen_record(heap->seen, source->host->samples, pid);
		if (!err || err == -EEXIST)
			return;
		snprintf(
			words, sizeof(words),
			"memory in use of a process not known: the library was not put into it: %s",
			why.what);
		film_loss(source->host->film, heap->of_film[OF_INUSE], words, 1);
		if (err == -EBUSY)
			return;
	}
	for (size_t i = 0; i < process->mapping_count; i++)
		probe(source, pid, process->mappings[i].image);
}

static int start(struct source *source, struct fail *why)
{
	struct mem_heap *heap = source->state;

	(void)why;
	add_events(source);
	heap->since = source->host->selection->command ? 0 : clock_ns();
	mem_go_turn(heap->go);
	mem_seen_start(heap->seen, !source->host->selection->command);
	/* a process of which no sample comes is one, too */
	for (size_t i = 0; i < source->host->selection->pid_count; i++)
		samples_follow(source->host->samples, source->host->selection->pids[i]);
	if (source->host->selection->whole_machine && heap->of_film[OF_ALLOC])
		mem_java_find(source->host->samples);
	heap->is_starting = false;
	for (size_t i = 0; heap->probes && i < source->host->selection->pid_count; i++)
		start_running(source, source->host->selection->pids[i]);
	return 0;
}

static void take_alloc(struct source *source, const struct capture_record *record,
		       const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	uint64_t interval = 0;
	struct mem_heap *heap = source->state;
	struct waiting_half half = {.key = identity->key, .pid = identity->pid};

	if (!mem_record_words(record, &interval, 1) || !interval)
		heap->damaged++;
	if (!interval || !source_is_meant(source, identity))
		return;
	half.time = record->head.time;
	half.value = mem_record_weight(identity->value & ~MEM_HEAP_UNFOLLOWED, interval);
	half.place = samples_resolve(source->host->samples, record, handover);
	mem_seen_record(heap->seen, source->host->samples, (pid_t)identity->pid);
	if (heap->of_film[OF_ALLOC])
		samples_add(source->host->samples, heap->of_film[OF_ALLOC], half.time, &half.place,
			    half.value);
	/* of one that has probes, only that it was allocated is known */
	if (!heap->of_film[OF_INUSE] || !identity->key)
		return;
	if (identity->value & MEM_HEAP_UNFOLLOWED)
		heap->unfollowed++;
	else
		mem_live_add(heap->live, &half);
}

/*
 * One that is not known was allocated before the recording, or by the parent of a process that was
 * forked, which still has it.
 */
static void take_free(struct source *source, const struct mem_heap_free *record)
{
	struct mem_heap *heap = source->state;

	if (record->head.size != sizeof(*record))
		heap->damaged++;
	else if (!record->is_kept)
		mem_live_remove(heap->live, record->pid, record->address);
	else if (heap->of_film[OF_INUSE])
		mem_live_keep(heap->live, record->pid, record->address);
}

static void take_object(struct source *source, const struct capture_record *record,
			const struct capture_handover *handover)
{
	struct mem_heap *heap = source->state;

	if (source_is_meant(source, &record->identity))
		mem_java_take(heap->java, source->host->samples, heap->of_film[OF_ALLOC], record,
			      handover);
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	struct mem_heap *heap = source->state;

	heap->last = head->time;
	if (head->kind == MEM_HEAP_ALLOC)
		take_alloc(source, (const struct capture_record *)head, handover);
	else if (head->kind == MEM_HEAP_FREE)
		take_free(source, (const struct mem_heap_free *)head);
	else if (head->kind == MEM_HEAP_OBJECT)
		take_object(source, (const struct capture_record *)head, handover);
}

/* -- the lives of processes -------------------------------------------------------------------- */

/* One that runs already, and is not to tell by the library. */
static bool is_named(const struct source *source, pid_t pid)
{
	const struct selection *selection = source->host->selection;
	const struct mem_heap *heap = source->state;

	for (size_t i = 0; heap && heap->probes && i < selection->pid_count; i++)
		if (selection->pids[i] == pid)
			return !heap->is_starting &&
			       !(heap->inject && mem_inject_has(heap->inject, pid)) &&
			       !mem_seen_has_library(heap->seen, source->host->samples, pid);
	return false;
}

/* A forked child has the library from its parent; what is mapped later calls the allocator, too. */
static void hear_of_image(struct mem_heap *heap, pid_t pid, const struct image *image)
{
	if (image->device == heap->library.device && image->inode == heap->library.inode)
		mem_inject_child(heap->inject, pid);
	else if (image->kind == IMAGE_FILE)
		mem_inject_image(heap->inject, pid);
}

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->seen && source->host->samples)
		mem_seen_image(heap->seen, source->host->samples, pid, image);
	if (heap && heap->java && source_wants(source, OF_ALLOC))
		mem_java_image(heap->java, pid, image);
	if (heap && heap->go && source->host->samples &&
	    mem_go_image(heap->go, source->host->samples, pid, image))
		mem_seen_otherwise(heap->seen, pid);
	else if (heap && heap->otel && source->host->samples && take_otel(source, pid, image))
		return 0;
	else if (is_named(source, pid))
		probe(source, pid, image);
	else if (heap && heap->inject && !heap->is_starting)
		hear_of_image(heap, pid, image);
	return 0;
}

/* It runs another program from now on, or none. */
static void process_gone(struct source *source, pid_t pid)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->go)
		mem_go_gone(heap->go, pid);
	if (heap && heap->java)
		mem_java_gone(heap->java, pid);
	if (heap && heap->otel)
		mem_otel_gone(heap->otel, pid);
	if (heap && heap->probes)
		mem_probes_gone(heap->probes, pid);
	if (heap && heap->inject)
		mem_inject_gone(heap->inject, pid);
	if (heap && heap->of_film[OF_INUSE] && heap->last)
		mem_live_ended(heap->live, source->host->film, heap->of_film[OF_INUSE],
			       (uint32_t)pid, heap->last);
}

static void process_ended(struct source *source, pid_t pid)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->seen && source->host->samples)
		mem_seen_ended(heap->seen, source->host->samples, pid);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void tell_losses(struct source *source)
{
	const struct mem_heap *heap = source->state;
	const struct waiting_counts counts = mem_live_counts(heap->live);
	const struct loss_count losses[] = {
		{"allocation lost: its record is damaged", heap->damaged},
		{"memory in use left out: the program held too many samples", heap->unfollowed},
		{"memory in use left out: the recorder held too many samples", counts.evicted},
		{"memory in use left out: no memory", counts.refused},
	};

	losses_tell(source->host->film, source->event, losses, sizeof(losses) / sizeof(losses[0]));
	if (heap->is_probed && heap->of_film[OF_INUSE])
		film_loss(source->host->film, heap->of_film[OF_INUSE],
			  "memory in use of a process not known: its free() is not probed", 1);
	if (heap->inject)
		mem_inject_tell(heap->inject, source->host->film, source->event);
	if (heap->probes)
		mem_probes_tell(heap->probes, source->host->film, source->event);
	mem_java_tell(heap->java, source->host->film, heap->of_film[OF_ALLOC],
		      heap->of_film[OF_INUSE]);
	mem_otel_tell(heap->otel, source->host->film, source->event);
	/* of both events */
	mem_go_tell(heap->go, source->host->film, 0);
	mem_seen_tell(heap->seen, source->host->film, 0, heap->of_film[OF_INUSE] != 0);
}

static void tell_inuse(struct source *source, uint64_t now)
{
	struct mem_heap *heap = source->state;

	if (heap->of_film[OF_INUSE])
		mem_live_tell(heap->live, source->host->film, heap->of_film[OF_INUSE], now);
}

static void read_go(struct source *source, uint64_t now, bool all)
{
	struct mem_heap *heap = source->state;
	const struct mem_go_film to = {source->host->samples, source->host->film,
				       heap->of_film[OF_ALLOC], heap->of_film[OF_INUSE],
				       heap->since};

	mem_go_read(heap->go, &to, now, all);
}

static void tick(struct source *source, uint64_t now)
{
	struct mem_heap *heap = source->state;

	read_go(source, now, false);
	if (heap->inject)
		mem_inject_tick(heap->inject);
	if (heap->of_film[OF_INUSE])
		mem_live_tick(heap->live, source->host->film, heap->of_film[OF_INUSE], now);
	tell_losses(source);
}

/* Probes that have taken as much as they may go at once. */
static void drained(struct source *source, uint64_t now)
{
	struct mem_heap *heap = source->state;

	(void)now;
	mem_java_balance(heap->java, clock_ns());
	if (heap->probes)
		mem_probes_balance(heap->probes, clock_ns());
}

static void closing(struct source *source)
{
	struct mem_heap *heap = source->state;

	if (heap->last)
		tell_inuse(source, heap->last);
	read_go(source, clock_ns(), true);
	tell_losses(source);
}

static void finish(struct source *source, uint64_t now)
{
	tell_inuse(source, now);
	read_go(source, now, true);
	tell_losses(source);
}

static uint32_t thread_of(void *context, uint32_t pid)
{
	const struct source *source = context;
	const struct process *process = samples_process(source->host->samples, (pid_t)pid);

	return process ? samples_other_thread(source->host->samples, (pid_t)pid, (pid_t)pid,
					      process->start, process->comm)
		       : 0;
}

static void turn(struct source *source)
{
	struct mem_heap *heap = source->state;

	add_events(source);
	mem_go_turn(heap->go);
	if (heap->of_film[OF_INUSE])
		mem_live_turn(heap->live, source->host->samples, thread_of, source);
}

static void detach(struct source *source)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->inject)
		mem_inject_retract(heap->inject);
	if (heap && heap->uprobes)
		uprobes_free(heap->uprobes);
	if (heap)
		heap->uprobes = NULL;
	if (heap && heap->probes)
		mem_probes_detach(heap->probes);
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
		mem_go_free(heap->go);
		mem_java_free(heap->java);
		mem_otel_free(heap->otel);
		mem_probes_free(heap->probes);
		mem_inject_free(heap->inject);
	}
	free(heap);
}

static const char *const events[] = {"mem-alloc", "mem-inuse", NULL};

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
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.detach = detach,
	.finish = finish,
	.free = free_state,
	.image_new = image_new,
	.process_gone = process_gone,
	.process_ended = process_ended,
};
