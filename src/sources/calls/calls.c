// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sources/calls/places.h"
#include "sources/calls/reach.h"
#include "sources/calls/state.h"
#include "sources/calls/open.h"
#include "bpf/probes.skel.h"

/* A function is taken out when it was called too often for this many seconds in a row. */
#define HOT_SECONDS 3

/* Processes that have a debugger are not probed. */
static int refuse_debugged(struct calls *calls, struct fail *why)
{
	const struct selection *selection = calls->options.plan.selection;

	for (size_t i = 0; i < selection->pid_count; i++)
		debuggers_watch(&calls->debuggers, selection->pids[i]);
	return debuggers_refuse(&calls->debuggers, why);
}

int calls_new(const struct calls_options *options, struct calls **result, struct fail *why)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	int err;

	if (!calls)
		return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	calls->options = *options;
	uprobe_ways_probe(&calls->ways);
	calls->options.plan.no_guard = !calls->ways.session;
	err = refuse_debugged(calls, why);
	if (!err)
		err = plan_new(&calls->options.plan, &calls->plan, why);
	if (err)
		calls_free(calls);
	else
		*result = calls;
	return err;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	calls_detach(calls);
	calls_sums_free(calls->sums);
	calls_slow_free(calls->slow);
	plan_free(calls->plan);
	vec_foreach (&calls->programs, program)
		free(*program);
	vec_free(&calls->programs);
	vec_free(&calls->functions);
	calls_tracks_free(&calls->tracks);
	vec_free(&calls->film_images);
	debuggers_free(&calls->debuggers);
	free(calls->hottest);
	free(calls);
}

struct plan *calls_plan(const struct calls *calls)
{
	return calls->plan;
}

bool calls_want_stacks(const struct calls *calls)
{
	return calls->options.plan.stack != NULL;
}

void calls_prepare(struct calls *calls, struct probes *probes)
{
	const struct calls_options *options = &calls->options;
	struct uprobe_programs programs = calls_programs(probes);

	probes->rodata->calls_summary = options->summary;
	probes->rodata->calls_entries = options->listener && !options->summary;
	probes->rodata->calls_have_under = options->plan.under != NULL;
	probes->rodata->calls_have_stack = options->plan.stack != NULL;
	probes->rodata->calls_depth = options->depth ? options->depth : UINT32_MAX;
	probes->rodata->calls_shortest = options->shortest;
	probes->rodata->calls_results = calls->inspect != NULL;
	bpf_map__set_max_entries(probes->maps.calls_bodies,
				 CALLS_COST_FUNCTIONS + (uint32_t)plan_limit(calls->plan));
	if (calls->inspect)
		bpf_map__set_max_entries(probes->maps.calls_result_plans,
					 CALLS_COST_FUNCTIONS + (uint32_t)plan_limit(calls->plan));
	uprobes_prepare(&programs, &calls->ways);
}

void calls_prepare_all(struct probes *probes)
{
	struct uprobe_programs programs = calls_programs(probes);

	probes->rodata->calls_entries = true;
	probes->rodata->calls_have_under = true;
	probes->rodata->calls_have_stack = true;
	probes->rodata->calls_depth = UINT32_MAX;
	probes->rodata->calls_results = true;
	uprobes_prepare(&programs, NULL);
}

static struct film_image film_image_of(const struct plan_image *image)
{
	struct film_image words = {
		.kind = FILM_IMAGE_FILE,
		.path = image->path,
		.build_id_size = image->build_id_size,
	};

	memcpy(words.build_id, image->build_id, image->build_id_size);
	return words;
}

static unsigned int exit_of_cost(const struct probe_function *probe)
{
	return probe->exit;
}

/* The kinds of probes that a plan needs; images that come later may bring the usual ones. */
static struct calls_cost_kinds cost_kinds(const struct plan *plan)
{
	struct calls_cost_kinds kinds = {0};
	const struct plan_function *functions;
	size_t count, i;

	for (unsigned int exit = 0; exit < CALLS_COST_EXITS; exit++)
		kinds.has[PROBE_COST_FAST][exit] = kinds.has[PROBE_COST_SLOW][exit] = true;
	functions = plan_functions(plan, &count);
	for (i = 0; i < count; i++)
		if (!functions[i].is_moved)
			kinds.has[functions[i].probe->cost][exit_of_cost(functions[i].probe)] =
				true;
	return kinds;
}

/* What a call of a function costs. */
static void set_cost(const struct calls *calls, const struct probe_function *probe,
		     struct traced *traced)
{
	unsigned int exit = exit_of_cost(probe);

	if (calls->options.shortest && calls->options.summary)
		return;
	traced->own = calls->cost.own[probe->cost][exit];
	traced->outer = calls->cost.outer[probe->cost][exit];
	traced->error = calls->cost.error[probe->cost][exit];
}

/* A function in the film: its frame, its name, what its probe costs. */
static void film_function(struct calls *calls, uint32_t film_image,
			  const struct probe_function *probe, struct traced *traced)
{
	struct film_writer *film = calls->camera.film;
	const struct film_name name = {.function = traced->name};

	traced->frame = film_frame(film, film_image, FILM_FRAME_NATIVE, probe->address);
	film_name_frame(film, traced->frame, &name, 1);
	film_probe(film, calls->camera.event,
		   &(struct film_probe){traced->frame, traced->own, traced->outer, traced->error});
}

struct places {
	vec(struct uprobe_place) all;
};

/* The places of one function. False: no memory. */
static bool add_places(const struct plan_function *function, const struct plan_image *image,
		       uint32_t number, struct places *places)
{
	const struct probe_function *probe = function->probe;
	uint32_t exit, at_once = 0;

	if (probe->exit == PROBE_EXIT_RET && probe->at_once != PROBE_GOES_ON)
		at_once = probe->at_once == PROBE_LEAVES_AT_ONCE ? CALLS_FUNCTION_LEAVES
								 : CALLS_FUNCTION_EMPTY;
	if (!vec_push(&places->all,
		      calls_entry(probe->entry.offset, number, function->flags | at_once,
				  probe->entry.words, probe->exit == PROBE_EXIT_RETURN)))
		return false;
	for (exit = 0; probe->exit == PROBE_EXIT_RET && exit < probe->exits; exit++) {
		const struct probe_site *site = &image->functions.exits[probe->first_exit + exit];
		uint32_t flags = function->flags | (site->leaves ? CALLS_FUNCTION_LEAVES : 0);

		if (!vec_push(&places->all, calls_exit(site->offset, number, flags, site->words)))
			return false;
	}
	return true;
}

/* Where its code lies tells whose calls are whose. */
static bool set_body(const struct calls *calls, const struct probe_function *probe, uint32_t number)
{
	struct calls_body body = {
		.slide = probe->slide,
		.size = probe->size < UINT32_MAX ? (uint32_t)probe->size : 0,
	};

	return !bpf_map_update_elem(bpf_map__fd(calls->camera.probes->maps.calls_bodies), &number,
				    &body, BPF_ANY);
}

/* Enters the functions of an image into the film, and finds their places. */
static int add_functions(struct calls *calls, const struct plan_image *image, struct places *places)
{
	struct film_image words = film_image_of(image);
	uint32_t film_image = film_add_image(calls->camera.film, &words);
	const struct plan_function *all;
	size_t count, i;

	all = plan_functions(calls->plan, &count);
	if (calls->sums && calls_sums_reserve(calls->sums, count + CALLS_COST_FUNCTIONS))
		return -ENOMEM;
	for (i = 0; i < image->functions.count; i++) {
		const struct probe_function *probe = &image->functions.at[i];
		struct traced traced = {.name = probe->name};

		set_cost(calls, probe, &traced);
		if (probe->refusal == PROBE_ALLOWED && !all[image->first + i].is_moved) {
			uint32_t number = image->first + (uint32_t)i + CALLS_COST_FUNCTIONS;

			film_function(calls, film_image, probe, &traced);
			if (!set_body(calls, probe, number) ||
			    !add_places(&all[image->first + i], image, number, places))
				return -ENOMEM;
			calls->probed++;
		}
		if (!vec_push(&calls->functions, traced))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Where an exception is caught, all calls have ended that began below the one that catches, however
 * much room that takes on the stack before it calls again. It need not be traced itself. The probe
 * is one of an exit: of a function that would have begun where the stack of that one ends.
 */
static bool add_catch(const struct calls *calls, const struct plan_image *image,
		      struct places *places)
{
	struct probe_site site;

	/* of results only ends count that are those of a function */
	if (calls->inspect || !plan_find_catch(calls->plan, image, &site))
		return true;
	return vec_push(&places->all,
			calls_exit(site.offset, CALLS_FUNCTIONS_MAX - 1, 0, site.words + 1u));
}

/* Makes one image of the plan ready for probes. */
static int add_image(struct calls *calls, uint32_t number, struct fail *why)
{
	size_t images;
	const struct plan_image *image = &plan_images(calls->plan, &images)[number];
	struct places places = {0};
	int err = add_functions(calls, image, &places);

	if (!err && !add_catch(calls, image, &places))
		err = -ENOMEM;
	calls->images = number + 1;
	if (err)
		vec_free(&places.all);
	else
		err = reach_add(calls->reach, image->fd, places.all.at, places.all.count);
	return err ? fail_errno(why, err, NULL, "cannot trace %s", image->path) : 0;
}

static int attach_tracepoints(struct calls *calls, struct fail *why)
{
	struct probes *probes = calls->camera.probes;
	struct bpf_program *const programs[] = {probes->progs.calls_switch,
						probes->progs.calls_exit, probes->progs.calls_exec};

	return links_attach(&calls->links, programs, sizeof(programs) / sizeof(programs[0]),
			    "follow the target's threads", why);
}

static void keep_call(void *context, const struct film_call *call)
{
	struct calls *calls = context;

	film_call(calls->camera.film, calls->camera.event, call);
}

int calls_attach(struct calls *calls, const struct calls_camera *camera, struct fail *why)
{
	struct calls_cost_kinds kinds = cost_kinds(calls->plan);
	struct uprobe_programs programs = calls_programs(camera->probes);
	size_t images, i;
	int err;

	calls->camera = *camera;
	if (calls->options.summary) {
		err = calls_sums_new(camera->probes, &calls->sums);
		if (!err)
			err = calls_sums_reserve(calls->sums, CALLS_COST_FUNCTIONS);
		if (err)
			return fail_errno(why, err, NULL, "cannot trace");
	}
	err = calls_cost_measure(camera->probes, &calls->ways, camera->rings, calls->sums, &kinds,
				 &calls->cost, why);
	if (err)
		return err;
	if (calls->options.slower) {
		calls->slow = calls_slow_new(calls->options.slower, keep_call, calls);
		if (!calls->slow)
			return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	}
	err = uprobes_new(&programs, &calls->ways, &calls->uprobes);
	if (!err)
		err = calls_reach_new(calls);
	if (err)
		return fail_errno(why, err, NULL, "cannot trace");
	err = attach_tracepoints(calls, why);
	/* probes come one by one: until all are there, callers would lack what they call */
	camera->probes->data->calls_on = 0;
	plan_images(calls->plan, &images);
	for (i = 0; !err && i < images; i++)
		err = add_image(calls, (uint32_t)i, why);
	if (!err)
		err = calls_reach_start(calls, why);
	if (calls->sums)
		calls_sums_start(calls->sums);
	camera->probes->data->calls_on = calls->options.plan.start_on == NULL;
	return err;
}

static bool is_program(const struct calls *calls, const char *path)
{
	vec_foreach (&calls->programs, program)
		if (!strcmp(*program, path))
			return true;
	return false;
}

void calls_program(struct calls *calls, pid_t pid, const char *path)
{
	char *copy;

	debuggers_watch(&calls->debuggers, pid);
	if (!calls->command && calls->options.plan.selection->command)
		calls->command = pid;
	if (!path || !*path || is_program(calls, path))
		return;
	copy = strdup(path);
	if (copy && !vec_push(&calls->programs, copy))
		free(copy);
}

void calls_report_loss(struct calls *calls, const char *what, const char *which)
{
	char *words;

	if (asprintf(&words, "%s: %s", what, which) < 0)
		return;
	film_loss(calls->camera.film, calls->camera.event, words, 1);
	free(words);
}

/*
 * A file that the tracer has not had yet. known: its number in the plan, to which inspect may have
 * added it; UINT32_MAX: it is not there. Returns whether it has functions that are traced.
 */
static bool add_late(struct calls *calls, const struct image *image, uint32_t known)
{
	uint32_t added = known;
	size_t images;
	int err = 0;

	if (known == UINT32_MAX)
		err = plan_add_image(calls->plan, image, is_program(calls, image->path), &added);
	while (!err && added != UINT32_MAX && calls->reach && calls->images <= added)
		err = add_image(calls, (uint32_t)calls->images, NULL);
	if (!err &&
	    (added == UINT32_MAX || !plan_images(calls->plan, &images)[added].functions.count))
		return false;
	if (err)
		calls_report_loss(calls,
				  "file that a target mapped: its functions could not be listed",
				  image->path);
	else if (!calls->reach)
		calls_report_loss(calls, "file that a target mapped: it came too late to be probed",
				  image->path);
	else
		return true;
	calls->late++;
	return false;
}

bool calls_image(struct calls *calls, pid_t pid, const struct image *image, bool *each)
{
	uint32_t number = plan_find(calls->plan, image);

	*each = false;
	/* what targets map by then is looked at when the probes are set */
	if (!calls->camera.film)
		return false;
	if (number == UINT32_MAX || (calls->reach && number >= calls->images)) {
		if (!add_late(calls, image, number))
			return false;
		number = plan_find(calls->plan, image);
	}
	return calls->reach && calls_reach_image(calls, number, pid, each);
}

void calls_missed(struct calls *calls, const char *path, uint64_t ran_ns)
{
	char what[128] = "file that a target mapped: its first calls were not seen";

	if (ran_ns)
		snprintf(what, sizeof(what),
			 "file that a target mapped: its calls of the first %.1f ms were not seen",
			 (double)ran_ns / 1e6);
	calls_report_loss(calls, what, path);
	calls->late++;
}

bool calls_has_file(const struct calls *calls, dev_t device, ino_t inode)
{
	size_t count, i;
	const struct plan_image *images = plan_images(calls->plan, &count);

	for (i = 0; i < count; i++)
		if (images[i].device == device && images[i].inode == inode)
			return true;
	return false;
}

void calls_unseen(struct calls *calls, const char *comm)
{
	calls_report_loss(
		calls,
		"file that a target mapped: it was gone before its functions could be listed, "
		"its calls were not seen",
		comm);
	calls->late++;
}

static void remove_function(struct calls *calls, uint32_t number)
{
	struct traced *traced = &calls->functions.at[number];
	char what[100];

	traced->out = true;
	if (uprobes_remove_group(calls->uprobes, number + CALLS_COST_FUNCTIONS))
		calls_report_loss(
			calls,
			"functions no longer traced: those set together with one that was "
			"called too often, which could not be set again",
			traced->name);
	calls->taken_out++;
	if (!calls->hottest)
		calls->hottest = strdup(traced->name);
	snprintf(what, sizeof(what),
		 "function no longer traced, called more than %llu times a second",
		 (unsigned long long)calls->options.max_rate);
	calls_report_loss(calls, what, traced->name);
}

/* Functions that are called very often cost their program more than they tell. */
static void guard(struct calls *calls, uint64_t ns)
{
	uint32_t i;

	for (i = 0; i < calls->functions.count; i++) {
		struct traced *traced = &calls->functions.at[i];
		uint64_t recent = traced->calls - traced->calls_before;

		traced->calls_before = traced->calls;
		if (recent * 1e9 <= (double)calls->options.max_rate * (double)ns)
			traced->hot = 0;
		else if (++traced->hot >= HOT_SECONDS && !traced->out)
			remove_function(calls, i);
	}
}

static void write_sum(void *context, uint32_t function, uint64_t from, uint64_t to,
		      const struct film_sum *sum)
{
	struct calls *calls = context;
	struct film_sum named = *sum;
	struct traced *traced;

	if (function < CALLS_COST_FUNCTIONS ||
	    function - CALLS_COST_FUNCTIONS >= calls->functions.count)
		return;
	traced = &calls->functions.at[function - CALLS_COST_FUNCTIONS];
	traced->calls += sum->calls;
	calls->calls += sum->calls;
	named.frame = traced->frame;
	if (calls->options.keep)
		film_sum(calls->camera.film, calls->camera.event, from, to, &named);
}

/*
 * A debugger has come: its breakpoints work once the probes are gone, which can be while it holds
 * the process.
 */
static void detach_for_debugger(struct calls *calls)
{
	if (!calls->uprobes || debuggers_look(&calls->debuggers) != DEBUGGER_WAITS)
		return;
	calls_detach(calls);
	calls->gave_way = true;
	calls_report_loss(calls, "calls from then on",
			  "a debugger came, and all probes were taken away");
}

void calls_tick(struct calls *calls, uint64_t now)
{
	uint64_t since = calls->last_tick ? now - calls->last_tick : 0;

	if (calls->sums)
		calls_sums_flush(calls->sums, now, write_sum, calls);
	if (calls->options.max_rate && since && calls->uprobes)
		guard(calls, since);
	if (calls->reach)
		calls_reach_tick(calls);
	calls->last_tick = now;
	detach_for_debugger(calls);
}

void calls_detach(struct calls *calls)
{
	/* and they go one by one */
	if (calls->uprobes) {
		debuggers_look(&calls->debuggers);
		calls->attached = uprobes_counts(calls->uprobes);
		calls->camera.probes->data->calls_on = 0;
	}
	reach_free(calls->reach);
	calls->reach = NULL;
	uprobes_free(calls->uprobes);
	calls->uprobes = NULL;
	links_free(&calls->links);
}

static void handle_open(void *context, const struct capture_head *head)
{
	calls_handle(context, head);
}

void calls_finish(struct calls *calls, uint64_t now)
{
	if (!calls->options.summary && open_calls_read(calls->camera.probes, handle_open, calls))
		calls_report_loss(calls, "calls that were open at the end",
				  "they could not be read");
	if (calls->sums)
		calls_sums_flush(calls->sums, now, write_sum, calls);
	if (calls->slow)
		calls_slow_finish(calls->slow);
	calls_args_losses(calls);
	if (calls->strangers)
		film_loss(calls->camera.film, calls->camera.event,
			  "call lost: its thread is one too many, or there was no memory for it",
			  calls->strangers);
}

void calls_statistics(const struct calls *calls, struct calls_statistics *statistics)
{
	struct uprobes_counts counts =
		calls->uprobes ? uprobes_counts(calls->uprobes) : calls->attached;

	*statistics = (struct calls_statistics){
		.functions = calls->probed - counts.refused,
		.refused = counts.refused,
		.left_out = plan_left_out(calls->plan),
		.calls = calls->calls,
		.taken_out = calls->taken_out,
		.late = calls->late,
		.hottest = calls->hottest,
		.strangers = calls->strangers,
		.debugged = calls->debuggers.process,
		.gave_way = calls->gave_way,
	};
	if (calls->slow)
		calls_slow_counts(calls->slow, &statistics->dropped, &statistics->not_waited_for);
}
