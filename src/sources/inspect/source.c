// SPDX-License-Identifier: Apache-2.0
/* inspect as a source of events: its probes, and which processes have them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/filter.h"
#include "attach/holds.h"
#include "sources/inspect/film.h"
#include "sources/inspect/state.h"
#include "attach/parts.h"
#include "sources/source.h"
#include "film/events.h"
#include "bpf/probes.skel.h"
#include "process/targets.h"

/* Of a call at most: its beginning and its end. */
#define RECORD_BYTES (2 * INSPECT_BYTES_MAX)

/* Plans of functions in files that targets map later. */
#define LATE_PLANS 256

/* Null where programs are only tried (sources_make_possible()). */
static struct inspect *inspect_of(const struct source *source)
{
	return source->settings->given;
}

static unsigned int needs(const struct source *source)
{
	const struct inspect *inspect = inspect_of(source);

	return SOURCE_IMAGES |
	       (!inspect || inspect->options.stacks ? SOURCE_STACKS | SOURCE_RUNTIMES : 0);
}

/* What a few calls can take; to fill a large ring with zeros takes the kernel 20 ms. */
static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	const struct inspect_options *options =
		inspect_of(source) ? &inspect_of(source)->options : NULL;
	uint32_t bytes = rings_bytes_for_samples(1, cpus), most;

	if (!options)
		return bytes;
	most = (options->stacks ? 4 : 2) * rings_bytes_for_calls(cpus);
	while (bytes < most && (!options->calls || bytes / RECORD_BYTES < options->calls))
		bytes *= 2;
	return bytes;
}

static struct uprobe_programs programs_of(const struct source *source)
{
	struct probes *probes = source->host->probes;
	const struct inspect *inspect = inspect_of(source);
	bool returns = !inspect || inspect->options.plan.exit == PROBE_WISH_RETURN;

	return (struct uprobe_programs){
		.session = returns ? probes->progs.inspect_session : NULL,
		.site = probes->progs.inspect_site,
	};
}

static void set_sizes(const struct inspect *inspect, struct probes *probes)
{
	uint32_t plans = INSPECT_PLANS_MAX;

	/* as long as functions are being listed, all of them may be needed */
	if (!inspect->reading.is_on && inspect->plans.count + LATE_PLANS < plans)
		plans = (uint32_t)inspect->plans.count + LATE_PLANS;
	bpf_map__set_max_entries(probes->maps.inspect_plans, plans);
	bpf_map__set_max_entries(probes->maps.inspect_buckets, plans);
}

static void prepare(struct source *source)
{
	struct inspect *inspect = inspect_of(source);
	struct probes *probes = source->host->probes;
	struct uprobe_programs programs = programs_of(source);

	if (inspect)
		set_sizes(inspect, probes);
	bpf_map__set_max_entries(probes->maps.inspect_scratch_map,
				 CAPTURE_SCRATCHES * (uint32_t)libbpf_num_possible_cpus());
	probes->rodata->inspect_stacks = !inspect || inspect->options.stacks;
	probes->rodata->inspect_traced = inspect && inspect->options.traced;
	bpf_program__set_autoload(probes->progs.inspect_session, programs.session != NULL);
	uprobes_prepare(&programs, inspect ? &inspect->ways : NULL);
}

static bool is_target(void *context, pid_t pid)
{
	const struct source *source = context;

	return filter_is_target(source->host->probes, source->host->selection, pid);
}

static void count_without(void *context, uint32_t image, int err)
{
	struct source *source = context;

	(void)image;
	(void)err;
	inspect_of(source)->statistics.late++;
}

/* trace --args: tells the tracer's probes by which plans they take results. */
static int send_results(struct source *source, struct fail *why)
{
	struct inspect *inspect = inspect_of(source);
	int map = bpf_map__fd(source->host->probes->maps.calls_result_plans);

	for (; inspect->sent_kept < inspect->kept.count; inspect->sent_kept++) {
		uint32_t plan = inspect->kept.at[inspect->sent_kept].results;
		uint32_t key = inspect->options.traced->first + (uint32_t)inspect->sent_kept;

		if (plan && bpf_map_update_elem(map, &key, &plan, BPF_ANY))
			return fail_errno(why, -errno, NULL, "cannot say what probes are to read");
	}
	return 0;
}

/* Gives the plans from a number on to the kernel side. */
static int send_plans(struct source *source, size_t first, struct fail *why)
{
	const struct inspect *inspect = inspect_of(source);
	int map = bpf_map__fd(source->host->probes->maps.inspect_plans);

	for (size_t i = first; i < inspect->plans.count; i++) {
		uint32_t key = (uint32_t)i;

		if (bpf_map_update_elem(map, &key, &inspect->plans.at[i], BPF_ANY))
			return fail_errno(why, -errno, NULL, "cannot say what probes are to read");
	}
	return send_results(source, why);
}

/* The files that have plans, and no probes yet. */
static int add_files(struct source *source, struct fail *why)
{
	struct inspect *inspect = inspect_of(source);
	size_t count;
	const struct plan_image *files = plan_images(inspect->plan, &count);
	int err = 0;

	for (; inspect->attached_images < inspect->images.count && !err;
	     inspect->attached_images++) {
		struct inspect_image *image = &inspect->images.at[inspect->attached_images];

		err = reach_add(inspect->reach, files[inspect->attached_images].fd,
				image->places.at, image->places.count);
		memset(&image->places, 0, sizeof(image->places));
	}
	return err ? fail_errno(why, err, NULL, "cannot inspect") : 0;
}

static unsigned int meet(struct source *source, uint32_t number, pid_t pid)
{
	struct inspect *inspect = inspect_of(source);
	unsigned int answer = 0;
	int result;

	if (!reach_is_bound(inspect->reach, number))
		return 0;
	answer |= SOURCE_IMAGE_EACH;
	result = reach_process(inspect->reach, number, pid);
	if (result < 0)
		inspect->statistics.late++;
	return answer | (result > 0 ? SOURCE_IMAGE_PROBED : 0);
}

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct inspect *inspect = inspect_of(source);
	uint32_t number = plan_find(inspect->plan, image), added;
	size_t plans = inspect->plans.count;

	if (!inspect->reach)
		return 0;
	if (number == UINT32_MAX) {
		bool is_program = map_get(&inspect->programs,
					  hash_bytes(image->path, strlen(image->path))) != NULL;

		if (plan_add_image(inspect->plan, image, is_program, &added) || added == UINT32_MAX)
			return 0;
		number = added;
	}
	/* the tracer's plan may have grown by others meanwhile */
	while (inspect->images.count <= number) {
		if (inspect_add_image(inspect, (uint32_t)inspect->images.count, NULL) ||
		    send_plans(source, plans, NULL) || add_files(source, NULL)) {
			inspect->statistics.late++;
			return 0;
		}
		plans = inspect->plans.count;
	}
	return meet(source, number, pid);
}

static void handle_image(void *context, pid_t pid, const struct image *image)
{
	image_new(context, pid, image);
}

static void handle_process(void *context, pid_t pid)
{
	struct source *source = context;

	samples_each_image(source->host->samples, pid, handle_image, source);
}

static void handle_wanted(void *context, pid_t pid)
{
	struct source *source = context;

	if (selection_wants(source->host->selection, pid))
		handle_process(context, pid);
}

static void handle_targets(struct source *source)
{
	const struct selection *selection = source->host->selection;
	struct inspect *inspect = inspect_of(source);

	for (size_t i = 0; i < selection->pid_count; i++)
		handle_process(source, selection->pids[i]);
	for (size_t i = 0; i < selection->tid_count; i++)
		handle_process(source, parts_process_of_thread(selection->tids[i]));
	if (selection->name_count || selection->cgroup_count)
		targets_each_pid(handle_wanted, source, NULL);
	for (size_t i = 0; inspect->command && i < inspect->images.count; i++)
		meet(source, (uint32_t)i, inspect->command);
}

static int start_film(struct source *source)
{
	struct inspect *inspect = inspect_of(source);
	struct film_event stacks = event_from(EVENT_CALL_STACKS, "uprobes");

	if (!inspect->options.keep)
		return 0;
	if (inspect->options.stacks)
		inspect->stack_event = film_add_event(source->host->film, &stacks);
	return inspect_film_new(inspect, source->host, source->event, &inspect->film);
}

static int start(struct source *source, struct fail *why)
{
	struct inspect *inspect = inspect_of(source);
	const struct selection *selection = source->host->selection;
	struct film_event event = event_from(EVENT_CALLS, "uprobes");
	struct uprobe_programs programs = programs_of(source);
	struct reach_options options = {
		.can_bind = !inspect->ways.multi || inspect->ways.pid_filter,
		.only_bind = selection->no_children || selection->tid_count,
		.is_target = is_target,
		.without = count_without,
		.context = source,
	};
	size_t strangers;
	int err;

	/* --args: the event is the tracer's */
	if (!inspect->options.traced)
		source->event = film_add_event(source->host->film, &event);
	err = start_film(source);
	if (err)
		return fail_errno(why, err, NULL, "cannot inspect");
	inspect->probes = source->host->probes;
	err = uprobes_new(&programs, &inspect->ways, &inspect->uprobes);
	options.uprobes = inspect->uprobes;
	if (!err)
		err = reach_new(&options, &inspect->reach);
	if (err)
		return fail_errno(why, err, NULL, "cannot inspect");
	err = send_plans(source, 0, why);
	if (!err)
		err = add_files(source, why);
	if (!err)
		err = reach_start(inspect->reach, &strangers, why);
	if (err)
		return err;
	for (size_t i = 0; i < inspect->images.count; i++)
		if (reach_is_bound(inspect->reach, (uint32_t)i)) {
			holds_children(source->host->probes);
			holds_forget(source->host->probes);
		}
	handle_targets(source);
	return 0;
}

/* Finishes the walk, if the kernel side could not, and names what it has found. */
static void handle_stack(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	struct inspect *inspect = inspect_of(source);
	struct samples *samples = source->host->samples;
	const struct process *process;
	struct samples_place place;
	struct inspect_stack *stack;
	const uint64_t *words;
	uint32_t count;

	if (!inspect->stacks || !source_is_meant(source, &record->identity))
		return;
	place = samples_resolve(samples, record, handover);
	if (inspect->stack_event)
		samples_add(samples, inspect->stack_event, record->head.time, &place, 1);
	process = samples_process(samples, (pid_t)record->identity.pid);
	words = samples_last_words(samples, &count);
	stack = inspect_stack_of(inspect->stacks, process, words, count);
	if (stack) {
		stack->time = record->head.time;
		stack->tid = record->identity.tid;
	}
	inspect_keep_stack(inspect, stack);
}

static void handle_call(struct source *source, const void *of)
{
	const struct inspect_record *record = of;

	if (source_is_meant(source, &record->identity))
		inspect_handle(inspect_of(source), record);
}

static void drained(struct source *source, uint64_t now)
{
	const struct inspect_options *options = &inspect_of(source)->options;

	(void)now;
	if (options->drained)
		options->drained(options->context);
}

static void tick(struct source *source, uint64_t now)
{
	struct inspect *inspect = inspect_of(source);

	(void)now;
	if (inspect->reach)
		reach_tick(inspect->reach);
}

static void detach(struct source *source)
{
	struct inspect *inspect = inspect_of(source);

	if (inspect->uprobes)
		inspect->attached = uprobes_counts(inspect->uprobes);
	reach_free(inspect->reach);
	inspect->reach = NULL;
	uprobes_free(inspect->uprobes);
	inspect->uprobes = NULL;
}

/* What the kernel side has counted, over all CPUs. */
static uint64_t kernel_count(const struct source *source, enum capture_loss reason)
{
	int cpus = libbpf_num_possible_cpus(),
	    map = bpf_map__fd(source->host->probes->maps.capture_losses);
	uint32_t at = CAPTURE_LOSS_AT(CAPTURE_SOURCE_INSPECT, reason);
	uint64_t *counts = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*counts)), sum = 0;

	if (counts && !bpf_map_lookup_elem(map, &at, counts))
		for (int i = 0; i < cpus; i++)
			sum += counts[i];
	free(counts);
	return sum;
}

/* What user space could not put together; the kernel side's own losses are in the film anyway. */
static void film_losses(const struct source *source)
{
	const struct inspect *inspect = inspect_of(source);
	const struct inspect_statistics *s = &inspect->statistics;
	const struct {
		uint64_t count;
		const char *words;
	} losses[] = {
		{s->ends_alone, "call lost: its beginning was not seen, only its end"},
		{s->refused, "place not inspected: the kernel refused the probe"},
		{s->late, "file that a target mapped: its first calls were not seen"},
		{inspect_film_lost(inspect->film), "values of a call lost: no memory"},
	};

	for (size_t i = 0; inspect->film && i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			film_loss(source->host->film, source->event, losses[i].words,
				  losses[i].count);
}

static void finish(struct source *source, uint64_t now)
{
	struct inspect *inspect = inspect_of(source);
	struct inspect_statistics *s = &inspect->statistics;

	inspect_finish(inspect, now);
	for (enum capture_loss reason = 0; reason < CAPTURE_LOSS_COUNT; reason++) {
		uint64_t count = kernel_count(source, reason);

		switch (reason) {
		case CAPTURE_LOSS_INSPECT_RATE:
			s->rejected_rate += count;
			break;
		case CAPTURE_LOSS_RING_FULL:
			s->lost_ring += count;
			break;
		case CAPTURE_LOSS_INSPECT_CONDITION:
			s->lost_condition += count;
			break;
		case CAPTURE_LOSS_INSPECT_OPEN:
			s->lost_open += count;
			break;
		default:
			s->lost_other += count;
		}
	}
	film_losses(source);
}

static void program_new(struct source *source, pid_t pid, const char *path)
{
	struct inspect *inspect = inspect_of(source);

	if (!inspect->command && source->host->selection->command)
		inspect->command = pid;
	/* without memory, what it maps is taken for a library's */
	if (path && *path)
		(void)!map_put(&inspect->programs, hash_bytes(path, strlen(path)), 1);
}

static void executed(struct source *source, pid_t pid)
{
	if (inspect_of(source)->reach)
		reach_executed(inspect_of(source)->reach, pid);
}

static void process_ended(struct source *source, pid_t pid)
{
	if (inspect_of(source)->reach)
		reach_ended(inspect_of(source)->reach, pid);
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	(void)path;
	(void)ran_ns;
	inspect_of(source)->statistics.late++;
}

static bool has_image(const struct source *source, dev_t device, ino_t inode)
{
	size_t count;
	const struct plan_image *images = plan_images(inspect_of(source)->plan, &count);

	for (size_t i = 0; i < count; i++)
		if (images[i].device == device && images[i].inode == inode)
			return true;
	return false;
}

static void image_unseen(struct source *source, const char *comm)
{
	(void)comm;
	inspect_of(source)->statistics.late++;
}

static const struct source_record records[] = {
	SOURCE_RECORD(CAPTURE_INSPECT, inspect_record, handle_call),
	SOURCE_RECORD_WITH_STACK(CAPTURE_INSPECT_STACK, handle_stack),
	{0},
};

const struct source_type source_inspect = {
	.needs = needs,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.detach = detach,
	.finish = finish,
	.processes.program = program_new,
	.processes.executed = executed,
	.processes.ended = process_ended,
	.images.arrived = image_new,
	.images.missed = image_missed,
	.images.has_probes = has_image,
	.images.unprobed = image_unseen,
};
