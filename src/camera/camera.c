// SPDX-License-Identifier: Apache-2.0
#include "camera/camera.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/capture_abi.h"
#include "camera/calls.h"
#include "camera/cpu.h"
#include "camera/feature.h"
#include "camera/filter.h"
#include "camera/holds.h"
#include "camera/losses.h"
#include "camera/rings.h"
#include "camera/samples.h"
#include "camera/arrivals.h"
#include "camera/uprobes.h"
#include "probes.skel.h"
#include "process/activity.h"
#include "process/sideband.h"

#define TABLES_LIMIT_DEFAULT (96ull << 20)
#define SIDEBAND_PAGES	     64
/* Running processes that are looked at before the first sample. */
#define FOLLOW_FIRST_MAX 64
/* Stacks that can be handed over at the same moment, 64 KiB each; one per CPU on most machines. */
#define COPIES_MAX 32u

/* CPUs that have memory of their own for stacks in the making; on larger machines some share. */
#define SCRATCH_CPUS_MAX 256
#define RECORDER_NICE	 -20
/* So many records and events are taken between two looks at who waits for probes. */
#define TURNS 256

/* The last stack handed over on each ring: its record comes right behind. */
struct handover_slot {
	struct capture_handover *at;
	size_t room;
};

struct camera {
	struct camera_options options;
	struct probes *probes;
	struct bpf_link *follow[3];
	struct bpf_link *mappings; /* null where the kernel lacks the tracepoint */
	struct rings *rings;
	struct sideband *sideband;
	struct arrivals *arrivals; /* null: no functions are traced */
	unsigned int turns;	   /* records and events taken */
	struct cpu_source *source;
	struct samples *samples;
	struct film_writer *film;
	uint32_t event;	      /* the first one */
	uint32_t stack_event; /* stacks of calls (--stack) */
	uint64_t period;      /* ns that one sample stands for */
	pid_t added;	      /* the process that was made to be filmed; 0: none */
	unsigned int cpus;
	struct handover_slot *handovers; /* by ring */
	vec(struct target_event) events; /* of the drain under way; paths are copies */
	size_t next_event;
	struct activity
		*activity; /* who runs while the probes are loaded; null: not wanted, or known */
	uint64_t last_tidy, sideband_lost;
	int epoll;
	uint64_t events_dropped; /* for lack of memory */
	uint64_t undecidable;	 /* records of processes that were gone before they could be told */
	struct samples_statistics final; /* once samples is gone */
};

static int load_failed(int err, struct fail *why)
{
	int missing = features_explain(why);

	if (missing)
		return missing;
	return fail_errno(why, err, "see 'stackcam doctor'",
			  "cannot load the probes, although nothing that they need is missing");
}

static bool takes_stacks(const struct camera *camera)
{
	return camera->options.frequency ||
	       (camera->options.calls && calls_want_stacks(camera->options.calls));
}

/* What is not asked for is not loaded. */
static void leave_out(const struct camera *camera)
{
	struct probes *probes = camera->probes;

	if (!camera->options.calls)
		uprobes_leave_out(probes);
	bpf_program__set_autoload(probes->progs.on_cpu, camera->options.frequency != 0);
	bpf_program__set_autoload(probes->progs.mapping_placed, takes_stacks(camera));
}

static int load(struct camera *camera, struct fail *why)
{
	const struct camera_options *options = &camera->options;
	struct probes *probes;
	int err;

	libbpf_set_print(NULL);
	probes = camera->probes = probes__open();
	if (!probes)
		return load_failed(-errno, why);
	probes->rodata->want_user = !options->kernel_only;
	probes->rodata->want_kernel = !options->user_only;
	filter_prepare(probes, options->selection);
	leave_out(camera);
	if (options->calls)
		calls_prepare(options->calls, probes);
	if (options->calls)
		holds_prepare(probes, options->selection);
	else
		holds_leave_out(probes);
	bpf_map__set_max_entries(probes->maps.capture_rings, camera->cpus);
	probes->rodata->capture_copies = camera->cpus < COPIES_MAX ? camera->cpus : COPIES_MAX;
	bpf_map__set_max_entries(probes->maps.capture_copy_map, probes->rodata->capture_copies);
	probes->rodata->capture_cpus =
		camera->cpus < SCRATCH_CPUS_MAX ? camera->cpus : SCRATCH_CPUS_MAX;
	bpf_map__set_max_entries(probes->maps.capture_scratch_map,
				 CAPTURE_SCRATCHES * probes->rodata->capture_cpus);
	bpf_map__set_max_entries(probes->maps.capture_rule_cache_map, probes->rodata->capture_cpus);
	err = probes__load(probes);
	return err ? load_failed(err, why) : 0;
}

static int attach_follow(struct camera *camera, struct fail *why)
{
	struct bpf_program *programs[] = {camera->probes->progs.follow_fork,
					  camera->probes->progs.follow_exec,
					  camera->probes->progs.follow_exit};
	size_t i;

	if (camera->options.selection->whole_machine)
		return 0;
	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		camera->follow[i] = bpf_program__attach(programs[i]);
		if (!camera->follow[i])
			return fail_errno(why, -errno, "see 'stackcam doctor'",
					  "cannot follow the target's children");
	}
	return 0;
}

/* One descriptor for all that may want to be drained. */
static int watch(struct camera *camera, struct fail *why)
{
	struct epoll_event wanted = {.events = EPOLLIN};

	camera->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (camera->epoll < 0 ||
	    epoll_ctl(camera->epoll, EPOLL_CTL_ADD, rings_fd(camera->rings), &wanted) ||
	    epoll_ctl(camera->epoll, EPOLL_CTL_ADD, sideband_poll_fd(camera->sideband), &wanted))
		return fail_errno(why, -errno, NULL, "cannot wait for samples");
	return 0;
}

/* A recorder that waits for a CPU loses samples just when the machine is busy. */
void camera_raise_priority(void)
{
	setpriority(PRIO_PROCESS, 0, RECORDER_NICE);
}

int camera_new(const struct camera_options *options, struct camera **result, struct fail *why)
{
	struct cpu_options cpu = {options->frequency, options->user_only, options->kernel_only};
	struct camera *camera = calloc(1, sizeof(*camera));
	unsigned int online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	int err, cpus = libbpf_num_possible_cpus();

	if (!camera || cpus <= 0) {
		free(camera);
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	}
	/* large tables that come and go leave no holes; by itself, malloc() would learn to keep them */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	camera->options = *options;
	camera->epoll = -1;
	camera->cpus = (unsigned int)cpus;
	camera->period = options->frequency ? 1000000000ull / options->frequency : 0;
	camera_raise_priority();
	if (options->frequency)
		camera->activity = activity_begin();
	err = load(camera, why);
	if (!err)
		err = rings_new(bpf_map__fd(camera->probes->maps.capture_rings),
				options->calls
					? rings_bytes_for_calls(online)
					: rings_bytes_for_samples(options->frequency, online),
				&camera->rings, why);
	if (!err) {
		camera->handovers = calloc(rings_count(camera->rings), sizeof(*camera->handovers));
		if (!camera->handovers)
			err = fail_errno(why, -ENOMEM, NULL, "cannot record");
	}
	if (!err)
		err = sideband_open(SIDEBAND_PAGES, &camera->sideband, why);
	if (!err)
		err = watch(camera, why);
	if (!err && options->frequency)
		err = cpu_source_new(&cpu, camera->probes->progs.on_cpu, &camera->source, why);
	if (!err)
		err = filter_fill(camera->probes, options->selection, why);
	if (!err)
		err = attach_follow(camera, why);
	/* without it, stacks through what was replaced are cut when user space hears of it */
	if (!err && takes_stacks(camera))
		camera->mappings = bpf_program__attach(camera->probes->progs.mapping_placed);
	if (err)
		goto failed;
	*result = camera;
	return 0;
failed:
	camera_free(camera);
	return err;
}

static void forget_events(struct camera *camera)
{
	vec_foreach (&camera->events, event)
		free((char *)(uintptr_t)event->path);
	camera->events.count = camera->next_event = 0;
}

static void stop_probes(struct camera *camera)
{
	size_t i;

	arrivals_stop(camera->arrivals);
	if (camera->options.calls)
		calls_detach(camera->options.calls);
	cpu_source_free(camera->source);
	camera->source = NULL;
	bpf_link__destroy(camera->mappings);
	camera->mappings = NULL;
	for (i = 0; i < sizeof(camera->follow) / sizeof(camera->follow[0]); i++) {
		bpf_link__destroy(camera->follow[i]);
		camera->follow[i] = NULL;
	}
}

void camera_free(struct camera *camera)
{
	unsigned int i;

	if (!camera)
		return;
	stop_probes(camera);
	arrivals_free(camera->arrivals);
	activity_end(camera->activity, NULL, 0);
	samples_free(camera->samples);
	if (camera->epoll >= 0)
		close(camera->epoll);
	sideband_close(camera->sideband);
	for (i = 0; camera->handovers && i < rings_count(camera->rings); i++)
		free(camera->handovers[i].at);
	free(camera->handovers);
	rings_free(camera->rings);
	probes__destroy(camera->probes);
	forget_events(camera);
	vec_free(&camera->events);
	free(camera);
}

static void image_new(void *context, const struct image *image)
{
	struct camera *camera = context;
	struct calls *calls = camera->options.calls;

	if (!calls || !calls_image(calls, image))
		return;
	if (camera->arrivals)
		arrivals_image(camera->arrivals, image);
	else
		calls_missed(calls, image->path, 0);
}

static void program_new(void *context, const struct process *process)
{
	struct camera *camera = context;

	if (camera->options.calls)
		calls_program(camera->options.calls, (pid_t)process->pid, process->exe);
}

static void add_cpu_event(struct camera *camera)
{
	struct film_event event = {
		.name = "on-cpu",
		.unit = "ns",
		.source = cpu_source_name(camera->source),
		.frequency = camera->options.frequency,
	};

	camera->event = film_add_event(camera->film, &event);
}

static int start_cpu(struct camera *camera, struct fail *why)
{
	add_cpu_event(camera);
	return cpu_source_start(camera->source, why);
}

static int start_calls(struct camera *camera, struct fail *why)
{
	struct film_event event = {.name = "calls", .unit = "ns", .source = "uprobes"};
	struct calls_camera parts = {
		.probes = camera->probes,
		.rings = camera->rings,
		.samples = camera->samples,
		.film = camera->film,
	};

	int err;

	parts.event = film_add_event(camera->film, &event);
	if (!camera->event)
		camera->event = parts.event;
	if (calls_want_stacks(camera->options.calls)) {
		struct film_event stacks = {
			.name = "call-stacks", .unit = "count", .source = "uprobes"};

		camera->stack_event = film_add_event(camera->film, &stacks);
	}
	/* what a traced process maps and executes later is traced too */
	if (camera->added)
		samples_follow(camera->samples, camera->added);
	err = calls_attach(camera->options.calls, &parts, why);
	if (err)
		return err;
	return arrivals_new(&(struct arrivals_parts){camera->probes, camera->samples,
						     camera->options.calls,
						     camera->options.selection},
			    &camera->arrivals, why);
}

/* What must be known of processes that are named, or that run right now, is, before the first sample comes. */
static void follow_first(struct camera *camera)
{
	const struct selection *selection = camera->options.selection;
	pid_t running[FOLLOW_FIRST_MAX];
	size_t i, count = activity_end(camera->activity, running, FOLLOW_FIRST_MAX);

	camera->activity = NULL;
	for (i = 0; i < selection->pid_count; i++)
		samples_follow(camera->samples, selection->pids[i]);
	for (i = 0; i < count; i++)
		if (selection->whole_machine || selection_wants(selection, running[i]))
			samples_follow(camera->samples, running[i]);
}

int camera_start(struct camera *camera, struct film_writer *film, struct fail *why)
{
	struct samples_options options = {
		.probes = camera->probes,
		.tables_limit = camera->options.tables_limit ? camera->options.tables_limit
							     : TABLES_LIMIT_DEFAULT,
		.rate = camera->options.frequency,
		.symbols = camera->options.symbols,
		.few_processes = !camera->options.selection->whole_machine,
		.image_new = image_new,
		.program_new = program_new,
		.context = camera,
	};
	int err = samples_new(&options, film, &camera->samples, why);

	if (err)
		return err;
	camera->film = film;
	if (camera->options.names_soon)
		film_names_follow(film);
	follow_first(camera);
	if (camera->options.frequency)
		err = start_cpu(camera, why);
	if (!err && camera->options.calls)
		err = start_calls(camera, why);
	return err;
}

int camera_add_process(struct camera *camera, pid_t pid, struct fail *why)
{
	camera->added = pid;
	/* what the child of our own does before it is the command is not to be traced */
	return camera->options.calls && !camera->options.frequency
		       ? filter_add_at_exec(camera->probes, pid, why)
		       : filter_add(camera->probes, pid, why);
}

int camera_fd(const struct camera *camera)
{
	return camera->epoll;
}

/* Where much is taken at a time, somebody may come to wait meanwhile. */
static void take_arrivals(struct camera *camera)
{
	if (!(++camera->turns % TURNS))
		arrivals_take(camera->arrivals);
}

static void keep_event(void *context, const struct target_event *event)
{
	struct camera *camera = context;
	struct target_event copy = *event;

	take_arrivals(camera);
	copy.path = event->path ? strdup(event->path) : NULL;
	if ((event->path && !copy.path) || !vec_push(&camera->events, copy)) {
		camera->events_dropped++;
		free((char *)(uintptr_t)copy.path);
		samples_events_lost(camera->samples);
	}
}

/* Gives in all events up to time. */
static void give_events(struct camera *camera, uint64_t time)
{
	while (camera->next_event < camera->events.count &&
	       camera->events.at[camera->next_event].time <= time) {
		const struct target_event *event = &camera->events.at[camera->next_event++];

		take_arrivals(camera);
		arrivals_event(camera->arrivals, event);
		samples_event(camera->samples, event);
		arrivals_event(camera->arrivals, NULL);
	}
}

/* Keeps a stack that was handed over until its record comes: it has to leave the ring before. */
static void keep_handover(struct camera *camera, unsigned int ring,
			  const struct capture_handover *handover)
{
	struct handover_slot *slot = &camera->handovers[ring];
	size_t size = sizeof(*handover) + handover->copied;

	if (slot->room < size) {
		free(slot->at);
		slot->at = malloc(sizeof(*handover) + CAPTURE_COPY_MAX);
		slot->room = slot->at ? sizeof(*handover) + CAPTURE_COPY_MAX : 0;
	}
	if (slot->at && size <= slot->room)
		memcpy(slot->at, handover, size);
}

static void take_record(struct camera *camera, unsigned int ring,
			const struct capture_record *record, uint32_t event, uint64_t value)
{
	const struct capture_handover *handover = camera->handovers[ring].at;

	if (record->undecided) {
		bool gone;

		if (!filter_decide(camera->probes, camera->options.selection, (pid_t)record->pid,
				   record->comm, &gone)) {
			camera->undecidable += gone;
			return;
		}
	}
	if (!record->handed_over || !handover || handover->tid != record->tid ||
	    handover->head.time != record->head.time)
		handover = NULL;
	samples_take(camera->samples, event, record, handover, value);
}

static struct losses_sum take_losses(const struct camera *camera, struct film_writer *film)
{
	struct samples_statistics samples = camera->final;
	struct losses_sources sources = {
		.kernel_map = bpf_map__fd(camera->probes->maps.capture_losses),
		.cpus = camera->cpus,
		.undecidable = camera->undecidable,
		.sideband_lost = camera->sideband_lost + camera->events_dropped,
		.samples = &samples,
	};

	if (camera->samples)
		samples_statistics(camera->samples, &samples);
	return losses_take(&sources, film, camera->event);
}

/* Takes all that happened up to now. */
static int drain_all(struct camera *camera, uint64_t now, struct fail *why)
{
	uint64_t lost = sideband_lost(camera->sideband);
	const struct capture_head *head;
	unsigned int ring;
	int err;

	/* somebody waits for that */
	arrivals_take(camera->arrivals);
	if (lost != camera->sideband_lost)
		samples_events_lost(camera->samples);
	camera->sideband_lost = lost;
	err = sideband_read(camera->sideband, now, keep_event, camera, why);
	/* a damaged event counts as lost; the rest can go on */
	if (err && err != -EIO)
		return err;
	while ((head = rings_next(camera->rings, now, &ring))) {
		take_arrivals(camera);
		give_events(camera, head->time);
		/* it has done its work when it woke this thread */
		if (head->source == CAPTURE_HOLD)
			continue;
		if (head->source == CAPTURE_HANDOVER)
			keep_handover(camera, ring, (const struct capture_handover *)head);
		else if (head->source == CAPTURE_ON_CPU)
			take_record(camera, ring, (const struct capture_record *)head,
				    camera->event, camera->period);
		else if (head->source == CAPTURE_CALL_STACK)
			take_record(camera, ring, (const struct capture_record *)head,
				    camera->stack_event, 1);
		else if (camera->options.calls)
			calls_take(camera->options.calls, head);
	}
	give_events(camera, now);
	forget_events(camera);
	return 0;
}

int camera_drain(struct camera *camera, struct fail *why)
{
	uint64_t now = clock_ns();
	int err = drain_all(camera, now, why);

	if (err)
		return err;
	samples_name_early(camera->samples, now);
	if (now - camera->last_tidy < 1000000000ull)
		return 0;
	camera->last_tidy = now;
	samples_tidy(camera->samples, now);
	if (camera->options.calls)
		calls_tick(camera->options.calls, now);
	arrivals_tick(camera->arrivals, now);
	take_losses(camera, camera->film);
	if (camera->options.names_soon && samples_settle_names(camera->samples, now))
		film_names_settled(camera->film);
	return film_commit(camera->film, now, false, why);
}

int camera_turn(struct camera *camera, struct film_writer *film, struct fail *why)
{
	int err = drain_all(camera, clock_ns(), why);

	take_losses(camera, camera->film);
	samples_name_all(camera->samples);
	if (!film_continue(film, camera->film) && !err)
		err = fail_errno(why, -ENOMEM, NULL, "cannot go on with another film");
	camera->film = film;
	if (camera->options.names_soon)
		film_names_follow(film);
	add_cpu_event(camera);
	samples_turn(camera->samples, film);
	return err;
}

void camera_loss(struct camera *camera, const char *words, uint64_t samples)
{
	film_loss(camera->film, camera->event, words, samples);
}

int camera_stop(struct camera *camera, struct fail *why)
{
	int err;

	stop_probes(camera);
	if (!camera->samples)
		return 0;
	err = camera_drain(camera, why);
	if (camera->options.calls)
		calls_finish(camera->options.calls, clock_ns());
	take_losses(camera, camera->film);
	samples_name_all(camera->samples);
	samples_statistics(camera->samples, &camera->final);
	/* it writes to the film until its end, and the film's owner is about to close that */
	samples_free(camera->samples);
	camera->samples = NULL;
	return err;
}

void camera_statistics(const struct camera *camera, struct camera_statistics *statistics)
{
	struct samples_statistics samples = camera->final;
	struct losses_sum losses = take_losses(camera, NULL);
	struct holds_counts held = arrivals_held(camera->arrivals);

	*statistics = (struct camera_statistics){0};
	if (camera->samples)
		samples_statistics(camera->samples, &samples);
	statistics->samples = samples.samples;
	statistics->complete = samples.complete;
	statistics->handed_over = samples.handed_over;
	statistics->lost = losses.samples;
	statistics->other_losses = losses.others + samples.runtimes_lost;
	statistics->table_bytes = samples.tables.bytes;
	statistics->tables = samples.tables.tables;
	statistics->rules = samples.tables.rules;
	memcpy(statistics->refusal, samples.refusal, sizeof(statistics->refusal));
	statistics->ring_bytes = rings_bytes(camera->rings);
	statistics->held = held.count;
	statistics->held_longest = held.longest;
}
