// SPDX-License-Identifier: Apache-2.0
/*
 * on-gpu: what kernels and copies take on GPUs, by the stack that launched them; gpu-copies: the
 * bytes of the copies; gpu-wait: what threads wait for a device, and for which work. A library that
 * the driver loads into a command, or that is put into running processes (inject.h), reports a
 * sample of the launches, and all kernels and copies: of launches that it has reported one by one,
 * with the launch's number, and of the others in sums by their names. So the sums are complete, and
 * what has no stack is shown as that.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../inject/gpu_places.h"
#include "base/map.h"
#include "bpf/gpu/on_gpu_abi.h"
#include "film/events.h"
#include "bpf/probes.skel.h"
#include "sources/gpu/command.h"
#include "sources/gpu/copies.h"
#include "sources/gpu/graphs.h"
#include "sources/gpu/inject.h"
#include "sources/gpu/instructions.h"
#include "sources/gpu/lanes.h"
#include "sources/gpu/launches.h"
#include "sources/gpu/losses.h"
#include "sources/gpu/names.h"
#include "sources/gpu/waits.h"
#include "sources/memory/library.h"
#include "sources/memory/record.h"
#include "sources/waiting.h"
#include "symbol/symbols.h"

_Static_assert(ON_GPU_PLACE_LAUNCH == GPU_PLACE_LAUNCH && ON_GPU_PLACE_KERNEL == GPU_PLACE_KERNEL &&
		       ON_GPU_PLACE_REST == GPU_PLACE_REST && ON_GPU_PLACE_NAME == GPU_PLACE_NAME &&
		       ON_GPU_PLACE_SAMPLES == GPU_PLACE_SAMPLES &&
		       ON_GPU_PLACE_WAIT == GPU_PLACE_WAIT &&
		       ON_GPU_PLACE_WAITED == GPU_PLACE_WAITED &&
		       ON_GPU_PLACE_WORKS == GPU_PLACE_WORKS &&
		       ON_GPU_PLACE_CAPTURE == GPU_PLACE_CAPTURE,
	       "the library's places are cookies of its probes");

/* As many samples as a CPU can have in a second, about. */
#define RATE 2000

/* Between two windows of samples of instructions, at least. */
#define WINDOW_LEAST_NS 10000000u

/* No copy has more bytes: the process may say anything. */
#define COPY_MAX (1ull << 48)

struct on_gpu {
	struct mem_library library;
	struct gpu_inject *inject; /* null: no running process gets it */
	struct uprobes *uprobes;
	struct waiting *launches;
	struct kept_stacks kept; /* of launches */
	struct gpu_names names;
	struct gpu_graphs graphs;	      /* where they were captured */
	uint64_t begun;			      /* when the film did */
	bool has_begun;			      /* the first one */
	struct gpu_instructions instructions; /* without code: not sampled */
	struct map windowed;		      /* process -> when its samples were last written */
	struct gpu_losses losses;
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_PROCESSES;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static struct uprobe_programs programs_of(const struct source *source)
{
	return (struct uprobe_programs){.site = source->host->probes->progs.on_gpu_site};
}

static void prepare(struct source *source)
{
	const struct uprobe_programs programs = programs_of(source);

	uprobes_prepare(&programs, NULL);
}

static int attach(struct source *source, struct fail *why)
{
	const struct uprobe_programs programs = programs_of(source);
	struct on_gpu *on_gpu = source->state = calloc(1, sizeof(*on_gpu));
	int err;

	if (!on_gpu || waiting_new(GPU_LAUNCHES_WAITING_MAX, &on_gpu->launches))
		return fail_errno(why, -ENOMEM, NULL, "cannot record kernels");
	if (source->settings->descriptor > 0 &&
	    gpu_code_new(source->settings->descriptor, &on_gpu->instructions.code))
		return fail_errno(why, -ENOMEM, NULL, "cannot record instructions");
	err = mem_library_find(&on_gpu->library, GPU_LIBRARY, why);
	if (err)
		return err;
	err = uprobes_new(&programs, NULL, &on_gpu->uprobes);
	return err ? fail_errno(why, err, NULL, "cannot record kernels")
		   : uprobes_attach(on_gpu->uprobes, on_gpu->library.path, 0,
				    on_gpu->library.places, on_gpu->library.count, why);
}

/*
 * Processes that were selected by number get the library once the film has begun, and others that
 * they start later.
 */
static int prepare_running(struct source *source, struct fail *why)
{
	const struct selection *selection = source->host->selection;
	const struct gpu_inject_settings settings = {
		.far = source->host->far,
		.budget = source->settings->values[ON_GPU_BUDGET],
		.has_lanes = source->events[OF_LANES] != 0,
		.has_instructions = source->events[OF_INSTRUCTIONS] != 0,
	};
	struct on_gpu *on_gpu = source->state;

	if (!selection->pid_count)
		return 0;
	return gpu_inject_new(&on_gpu->library, selection, &settings, &on_gpu->inject)
		       ? fail_errno(why, -ENOMEM, NULL, "cannot record kernels")
		       : 0;
}

static int start(struct source *source, struct fail *why)
{
	struct on_gpu *on_gpu = source->state;

	on_gpu->begun = clock_ns();
	return prepare_running(source, why);
}

static unsigned int image_arrived(struct source *source, pid_t pid, const struct image *image)
{
	struct on_gpu *on_gpu = source->state;

	if (on_gpu && on_gpu->inject)
		gpu_inject_image(on_gpu->inject, pid, image);
	return 0;
}

/* -- records ----------------------------------------------------------------------------------- */

/* In the keys of waits: a copy that waits is a launch, too. */
#define WAIT_KEY (1ull << 32)

/* A launch, or a wait, which has an event. */
static void handle_call(struct source *source, const struct capture_record *record,
			const struct capture_handover *handover)
{
	struct on_gpu *on_gpu = source->state;
	struct waiting_half half = {.key = record->identity.key, .pid = record->identity.pid};

	if (record->head.kind == ON_GPU_WAIT) {
		half.event = source->events[OF_WAITS];
		half.key |= WAIT_KEY;
	}
	if (!source_is_meant(source, &record->identity) ||
	    (record->head.kind == ON_GPU_WAIT && !half.event))
		return;
	half.time = record->head.time;
	half.place = samples_resolve(source->host->samples, record, handover);
	kept_stacks_add(&on_gpu->kept, source->host->samples, record, &half.place);
	waiting_put(on_gpu->launches, &half);
}

static void handle_capture(struct source *source, const struct capture_record *record,
			   const struct capture_handover *handover)
{
	struct on_gpu *on_gpu = source->state;

	if (source_is_meant(source, &record->identity))
		gpu_graphs_captured(&on_gpu->graphs, source->host->samples, record, handover);
}

/* The name of a hash, as reports show it; null: not known. */
static const char *name_of(void *context, uint32_t pid, uint64_t hash)
{
	const struct source *source = context;
	const struct on_gpu *on_gpu = source->state;

	return gpu_names_find(&on_gpu->names, pid, hash);
}

/* pid 0: of all processes. */
static void write_window(struct source *source, uint32_t pid, uint64_t time, bool is_last)
{
	struct on_gpu *on_gpu = source->state;
	const struct gpu_instructions_to to = {
		.samples = source->host->samples,
		.film = source->host->film,
		.event = source->events[OF_INSTRUCTIONS],
		.time = time,
		.name_of = name_of,
		.thread_of = source_first_thread,
		.context = source,
	};

	if (on_gpu->instructions.code)
		gpu_instructions_window(&on_gpu->instructions, pid, is_last, &to);
}

static void handle_samples(struct source *source, const void *of)
{
	const struct on_gpu_samples *samples = of;
	struct on_gpu *on_gpu = source->state;

	if (!samples->count || samples->count > UINT32_MAX || !on_gpu->instructions.code)
		on_gpu->losses.damaged++;
	else if (samples->undecided)
		source->undecidable++;
	else
		gpu_instructions_add(&on_gpu->instructions, samples);
}

/* Null: not known. */
static const char *work_name(struct source *source, uint32_t pid, uint64_t work)
{
	return gpu_is_copy(work) ? gpu_copy_name(work) : name_of(source, pid, work);
}

static void write_works(struct source *source, const struct capture_record *record, uint64_t lost)
{
	struct on_gpu *on_gpu = source->state;
	const struct gpu_lanes_to to = {
		.source = source,
		.launches = on_gpu->launches,
		.event = source->events[OF_LANES],
		.begun = on_gpu->begun,
		.losses = &on_gpu->losses,
		.graphs = &on_gpu->graphs,
		.name_of = work_name,
	};

	if (!to.event || !source_is_meant(source, &record->identity))
		return;
	if (record->head.kind == ON_GPU_WORKS_RAN)
		gpu_lanes_write(&to, record);
	else
		gpu_lanes_write_lost(&to, record, lost);
}

static void handle_works(struct source *source, const void *record)
{
	write_works(source, record, 0);
}

static void handle_state(struct source *source, const struct capture_record *record,
			 uint64_t number)
{
	struct on_gpu *on_gpu = source->state;
	uint64_t state = record->identity.value, time = record->head.time;
	const uint32_t pid = record->identity.pid;
	const uint64_t *before = map_get(&on_gpu->windowed, pid);

	/* however often a process says so: what comes too early waits for the next one */
	if (state == GPU_STATE_WINDOW && (!before || time - *before > WINDOW_LEAST_NS) &&
	    map_put(&on_gpu->windowed, pid, time))
		write_window(source, pid, time, false);
	if (state == GPU_STATE_LOST_SINCE)
		write_works(source, record, number);
	gpu_losses_count_state(&on_gpu->losses, state, number);
}

static void handle_name(struct source *source, const void *of)
{
	const struct capture_record *record = of;
	struct on_gpu *on_gpu = source->state;
	uint64_t hash = record->identity.key, words[ON_GPU_NAME_BYTES / 8];
	char text[ON_GPU_NAME_BYTES + sizeof("…")], *name;

	if (!mem_record_words(record, words, sizeof(words) / sizeof(words[0]))) {
		on_gpu->losses.damaged++;
		return;
	}
	if (!source_is_meant(source, &record->identity))
		return;
	if (!hash) {
		handle_state(source, record, words[0]);
		return;
	}
	memcpy(text, words, sizeof(words));
	text[sizeof(words) - 1] = 0;
	if (!text[0])
		return;
	/* it was longer, and is cut */
	if (strlen(text) == sizeof(words) - 1)
		strcat(text, "…");
	name = symbol_demangle_short(text);
	if (!name || gpu_names_add(&on_gpu->names, record->identity.pid, hash, name))
		on_gpu->losses.unnamed++;
	free(name);
}

/* What a kernel or copy is of. False: it is not known, nor whether its process is selected. */
static bool find_launch(struct source *source, const struct on_gpu_ran *ran,
			struct waiting_half *launch)
{
	struct on_gpu *on_gpu = source->state;

	if (ran->number && waiting_pop(on_gpu->launches, ran->pid, ran->number, launch)) {
		launch->value = GPU_HAS_KERNEL;
		if (ran->more)
			waiting_put(on_gpu->launches, launch);
		return true;
	}
	on_gpu->losses.without_stack += ran->count;
	launch->place.thread = source_first_thread(source, ran->pid);
	launch->place.stack = samples_words(source->host->samples, 0, "[launch not sampled]");
	return !ran->undecided && launch->place.thread;
}

/* When something ended, within the film: what its record says may be anything. */
static uint64_t end_of(const struct source *source, uint64_t end, uint64_t time)
{
	const struct on_gpu *on_gpu = source->state;
	uint64_t most = source_now(source);

	most = time < most ? time : most;
	if (end > most)
		return most;
	return end > on_gpu->begun ? end : on_gpu->begun;
}

static void write_ran(struct source *source, const struct on_gpu_ran *ran,
		      struct samples_place place)
{
	const bool is_copy = gpu_is_copy(ran->work);
	const char *name = work_name(source, ran->pid, ran->work);
	uint64_t end = end_of(source, ran->end, ran->head.time);

	if (place.stack)
		place.stack = samples_words(source->host->samples, place.stack,
					    name ? name : "[kernel without a name]");
	if (source->events[OF_KERNELS])
		samples_add(source->host->samples, source->events[OF_KERNELS], end, &place,
			    ran->ns);
	if (source->events[OF_COPIES] && is_copy)
		samples_add(source->host->samples, source->events[OF_COPIES], end, &place,
			    ran->bytes);
}

static void handle_ran(struct source *source, const void *of)
{
	const struct on_gpu_ran *ran = of;
	struct on_gpu *on_gpu = source->state;
	struct waiting_half launch = {0};
	uint64_t lost = on_gpu->losses.without_stack;
	bool is_site_known;

	/* none began before the machine did: the process may say anything */
	if (!ran->count || ran->count > UINT32_MAX || ran->ns / ran->count > ran->head.time ||
	    ran->bytes / ran->count > COPY_MAX) {
		on_gpu->losses.damaged++;
		return;
	}
	if (!find_launch(source, ran, &launch))
		return;
	if (ran->site) {
		launch.place.stack =
			gpu_graphs_stack(&on_gpu->graphs, source->host->samples, ran->pid,
					 ran->site, launch.place.stack, &is_site_known);
		on_gpu->graphs.unknown += is_site_known ? 0 : ran->count;
	}
	if (on_gpu->instructions.code && !gpu_is_copy(ran->work)) {
		const struct gpu_launches launches = {.pid = ran->pid,
						      .is_sampled =
							      lost == on_gpu->losses.without_stack,
						      .function = ran->work,
						      .ns = ran->ns,
						      .place = launch.place};

		gpu_instructions_ran(&on_gpu->instructions, &launches);
	}
	write_ran(source, ran, launch.place);
}

static void handle_waited(struct source *source, const void *of)
{
	const struct on_gpu_waited *waited = of;
	struct on_gpu *on_gpu = source->state;
	struct waiting_half wait = {0};
	uint32_t number = (uint32_t)waited->call, event = source->events[OF_WAITS];
	uint64_t end;

	if (!event)
		return;
	if (!gpu_wait_is_valid(waited)) {
		on_gpu->losses.damaged++;
		return;
	}
	if (!number || !waiting_pop(on_gpu->launches, waited->pid, number | WAIT_KEY, &wait)) {
		wait.place.thread = source_first_thread(source, waited->pid);
		wait.place.stack = samples_words(source->host->samples, 0, "[wait not sampled]");
		on_gpu->losses.waits_without_stack++;
		if (waited->undecided || !wait.place.thread)
			return;
	}
	end = end_of(source, waited->end, waited->head.time);
	gpu_wait_write(waited, &wait.place, source->host->samples, event, end,
		       work_name(source, waited->pid, waited->work));
	gpu_wait_write_stream(waited, &wait.place, source->host->film, event, end);
}

static void process_gone(struct source *source, pid_t pid)
{
	struct on_gpu *on_gpu = source->state;

	if (!on_gpu || !on_gpu->launches)
		return;
	if (on_gpu->inject)
		gpu_inject_gone(on_gpu->inject, pid);
	write_window(source, (uint32_t)pid, source_now(source), true);
	map_remove(&on_gpu->windowed, (uint32_t)pid);
	waiting_each(on_gpu->launches, (uint32_t)pid, gpu_launches_count, &on_gpu->losses);
	waiting_forget(on_gpu->launches, (uint32_t)pid);
	gpu_names_forget(&on_gpu->names, (uint32_t)pid);
	gpu_graphs_forget(&on_gpu->graphs, (uint32_t)pid);
	kept_stacks_forget(&on_gpu->kept, (uint32_t)pid);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void report_losses(struct source *source, bool is_last)
{
	const struct on_gpu *on_gpu = source->state;
	const struct selection *selection = source->host->selection;
	struct gpu_losses losses = on_gpu->losses;

	losses.without_capture = on_gpu->graphs.unknown;
	losses.not_injected = !selection->pid_count && !selection->command;
	if (on_gpu->inject)
		losses.late = gpu_inject_without_instructions(on_gpu->inject);
	gpu_losses_emit(&losses, source->host->film, source->event);
	if (on_gpu->inject)
		gpu_inject_emit_losses(on_gpu->inject, source->host->film, source->event, is_last);
	if (source->events[OF_INSTRUCTIONS])
		gpu_losses_emit_instructions(&losses, &on_gpu->instructions, source->host->film,
					     source->events[OF_INSTRUCTIONS]);
	if (source->events[OF_WAITS])
		gpu_losses_emit_waits(&losses, source->host->film, source->events[OF_WAITS]);
}

static void drained(struct source *source, uint64_t now)
{
	struct on_gpu *on_gpu = source->state;

	(void)now;
	if (on_gpu->has_begun || !source->host->since)
		return;
	on_gpu->has_begun = true;
	on_gpu->begun = source->host->since;
	if (on_gpu->inject)
		gpu_inject_tick(on_gpu->inject);
}

static void tick(struct source *source, uint64_t now)
{
	struct on_gpu *on_gpu = source->state;

	(void)now;
	if (on_gpu->inject && on_gpu->has_begun)
		gpu_inject_tick(on_gpu->inject);
	report_losses(source, false);
}

static void finish(struct source *source, uint64_t now)
{
	struct on_gpu *on_gpu = source->state;

	write_window(source, 0, now, true);
	waiting_each(on_gpu->launches, 0, gpu_launches_count, &on_gpu->losses);
	waiting_empty(on_gpu->launches, NULL, NULL);
	report_losses(source, true);
}

static void closing(struct source *source)
{
	write_window(source, 0, source_now(source), true);
}

static void turn(struct source *source)
{
	struct on_gpu *on_gpu = source->state;
	const struct gpu_launches_to to = {
		.waiting = on_gpu->launches,
		.kept = &on_gpu->kept,
		.samples = source->host->samples,
		.losses = &on_gpu->losses,
		.event = source->events[OF_WAITS],
	};

	on_gpu->begun = clock_ns();
	if (on_gpu->instructions.code)
		gpu_instructions_next_film(&on_gpu->instructions);
	gpu_graphs_next_film(&on_gpu->graphs);
	gpu_launches_next_film(&to, on_gpu->begun);
}

static void detach(struct source *source)
{
	struct on_gpu *on_gpu = source->state;

	/* what it reports in the end, probes are to see */
	if (on_gpu && on_gpu->inject)
		gpu_inject_retract(on_gpu->inject);
	if (on_gpu && on_gpu->uprobes)
		uprobes_free(on_gpu->uprobes);
	if (on_gpu)
		on_gpu->uprobes = NULL;
}

static void free_state(struct source *source)
{
	struct on_gpu *on_gpu = source->state;
	detach(source);
	if (!on_gpu)
		return;
	waiting_free(on_gpu->launches);
	gpu_instructions_free(&on_gpu->instructions);
	map_free(&on_gpu->windowed);
	gpu_names_free(&on_gpu->names);
	gpu_graphs_free(&on_gpu->graphs);
	kept_stacks_free(&on_gpu->kept);
	gpu_inject_free(on_gpu->inject);
	free(on_gpu);
}

#define RECORDS "records of the device"

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(ON_GPU_LAUNCH, handle_call),
	SOURCE_RECORD_WITH_STACK(ON_GPU_WAIT, handle_call),
	SOURCE_RECORD_WITH_STACK(ON_GPU_CAPTURE, handle_capture),
	SOURCE_RECORD_OF_PAST(ON_GPU_RAN, on_gpu_ran, handle_ran),
	SOURCE_RECORD_OF_PAST(ON_GPU_WORKS_RAN, capture_record, handle_works),
	SOURCE_RECORD_OF_PAST(ON_GPU_WAITED, on_gpu_waited, handle_waited),
	SOURCE_RECORD(ON_GPU_SAMPLES, on_gpu_samples, handle_samples),
	SOURCE_RECORD_OF_PAST(ON_GPU_NAME, capture_record, handle_name),
	{0},
};

static const struct source_event events[] = {
	[OF_KERNELS] = {EVENT_ON_GPU, RECORDS},
	[OF_INSTRUCTIONS] = {EVENT_GPU_INSTRUCTIONS, RECORDS},
	[OF_COPIES] = {EVENT_GPU_COPIES, RECORDS},
	[OF_WAITS] = {EVENT_GPU_WAIT, RECORDS},
	[OF_LANES] = {EVENT_GPU_LANES, RECORDS},
	{0},
};

static const struct source_option options[] = {
	[ON_GPU_BUDGET] =
		{"gpu-budget", 0, false, "PERCENT",
		 "of events of GPUs: of a CPU's time that stackcam's library may take in a "
		 "process, 1 to 100; fewer launches have a stack then (default 0: any)",
		 0, 100, 0},
	{0},
};

const struct source_type source_on_gpu = {
	.events = events,
	.options = options,
	.command = on_gpu_command,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.finish = finish,
	.turn = turn,
	.detach = detach,
	.free = free_state,
	.processes.gone = process_gone,
	.images.arrived = image_arrived,
};
