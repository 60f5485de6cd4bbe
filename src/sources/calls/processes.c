// SPDX-License-Identifier: Apache-2.0
/*
 * The tracer's side of reach.h: which processes are targets, what is said of the rest.
 */
#include <errno.h>
#include <stdio.h>

#include "sources/calls/state.h"
#include "attach/filter.h"
#include "attach/holds.h"
#include "attach/parts.h"
#include "process/targets.h"
#include "bpf/probes.skel.h"

static bool is_target(void *context, pid_t pid)
{
	const struct calls *calls = context;

	return filter_is_target(calls->camera.probes, calls->options.plan.selection, pid);
}

static const char *path_of(const struct calls *calls, uint32_t image)
{
	size_t count;
	const struct plan_image *images = plan_images(calls->plan, &count);

	return image < count ? images[image].path : "";
}

static void report_without(void *context, uint32_t image, int err)
{
	struct calls *calls = context;
	const char *what = "process without probes in a file: the kernel refused them";

	if (err == -ENOSPC)
		what = "process without probes in a file: too many processes have probes of their "
		       "own";
	else if (err == -EOPNOTSUPP)
		what = "process without probes in a file: its first thread has ended, and the "
		       "kernel binds no probes to the others";
	else if (err == -ESRCH)
		what = "process without probes in a file: it was gone before they could be set";
	else if (err == -EMFILE || err == -ENFILE)
		what = "process without probes in a file: too many open files";
	calls_report_loss(calls, what, path_of(calls, image));
	calls->late++;
}

int calls_reach_new(struct calls *calls)
{
	const struct selection *selection = calls->options.plan.selection;
	struct reach_options options = {
		.uprobes = calls->uprobes,
		/* perf events can be, and always could */
		.can_bind = !calls->ways.multi || calls->ways.pid_filter,
		.only_bind = selection->no_children || selection->tid_count,
		.is_target = is_target,
		.without = report_without,
		.context = calls,
	};

	return reach_new(&options, &calls->reach);
}

/* From now on, each process that maps some of the files needs its own probes. */
static void look_at_each_process(struct calls *calls)
{
	holds_children(calls->camera.probes);
	holds_forget(calls->camera.probes);
}

bool calls_reach_image(struct calls *calls, uint32_t image, pid_t pid, bool *each)
{
	int result;

	*each = reach_is_bound(calls->reach, image);
	if (!*each)
		return false;
	result = reach_process(calls->reach, image, pid);
	if (result < 0)
		report_without(calls, image, result);
	if (result > 1)
		calls_report_loss(calls,
				  "calls of a moment, since a second process has begun to run a "
				  "file, and ends that it was asked for are inferred now",
				  path_of(calls, image));
	return result > 0;
}

static void handle_image(void *context, pid_t pid, const struct image *image)
{
	struct calls *calls = context;
	bool each;

	calls_image(calls, pid, image, &each);
}

static void handle_process(void *context, pid_t pid)
{
	struct calls *calls = context;

	samples_each_image(calls->camera.samples, pid, handle_image, calls);
}

static void handle_wanted(void *context, pid_t pid)
{
	struct calls *calls = context;

	if (selection_wants(calls->options.plan.selection, pid))
		handle_process(context, pid);
}

/* Targets that run already, with what they map; a command will map all that was found. */
static void handle_targets(struct calls *calls)
{
	const struct selection *selection = calls->options.plan.selection;
	size_t count, i;
	bool each;

	for (i = 0; i < selection->pid_count; i++)
		handle_process(calls, selection->pids[i]);
	for (i = 0; i < selection->tid_count; i++)
		handle_process(calls, parts_process_of_thread(selection->tids[i]));
	if (selection->name_count || selection->cgroup_count)
		targets_each_pid(handle_wanted, calls, NULL);
	plan_images(calls->plan, &count);
	for (i = 0; calls->command && i < count; i++)
		calls_reach_image(calls, (uint32_t)i, calls->command, &each);
}

static void warn_of_strangers(const struct calls *calls, size_t strangers)
{
	char words[200];

	if (!strangers || !calls->options.warn)
		return;
	snprintf(words, sizeof(words),
		 "%zu other process%s %s functions that are traced, and will be slow: this kernel "
		 "cannot bind the probes to the targets (Linux 6.10 can)",
		 strangers, strangers == 1 ? "" : "es", strangers == 1 ? "has" : "have");
	calls->options.warn(words);
}

int calls_reach_start(struct calls *calls, struct fail *why)
{
	size_t strangers, count, i;
	int err = reach_start(calls->reach, &strangers, why);

	if (err)
		return err;
	warn_of_strangers(calls, strangers);
	plan_images(calls->plan, &count);
	for (i = 0; i < count; i++)
		if (reach_is_bound(calls->reach, (uint32_t)i))
			look_at_each_process(calls);
	handle_targets(calls);
	return 0;
}

void calls_executed(struct calls *calls, pid_t pid)
{
	if (calls->reach)
		reach_executed(calls->reach, pid);
}

void calls_process_ended(struct calls *calls, pid_t pid)
{
	if (calls->reach)
		reach_ended(calls->reach, pid);
}

/* The image of a function that a process has called which is not meant; UINT32_MAX: none has. */
static uint32_t image_of_stranger(struct calls *calls)
{
	uint32_t function = __atomic_exchange_n(&calls->camera.probes->bss->calls_stranger, 0,
						__ATOMIC_SEQ_CST);
	const struct plan_function *functions;
	size_t count;

	functions = plan_functions(calls->plan, &count);
	if (function <= CALLS_COST_FUNCTIONS || function - 1 - CALLS_COST_FUNCTIONS >= count)
		return UINT32_MAX;
	return functions[function - 1 - CALLS_COST_FUNCTIONS].image;
}

/* Changes how the probes of an image are set; meanwhile nothing is kept. */
static int change(struct calls *calls, uint32_t image, int (*how)(struct reach *, uint32_t))
{
	struct probes *probes = calls->camera.probes;
	uint32_t on = __atomic_exchange_n(&probes->data->calls_on, 0, __ATOMIC_SEQ_CST);
	int err = how(calls->reach, image);

	probes->data->calls_on = on;
	return err;
}

void calls_reach_tick(struct calls *calls)
{
	uint32_t image = image_of_stranger(calls);
	int err;

	if (image != UINT32_MAX && (calls->ways.pid_filter || !calls->ways.multi) &&
	    !reach_is_bound(calls->reach, image)) {
		look_at_each_process(calls);
		err = change(calls, image, reach_bind);
		if (err < 0)
			report_without(calls, image, err);
		calls_report_loss(
			calls,
			"calls of a moment, since a process that is not a target has begun "
			"to run a file, and its probes were bound to the targets",
			path_of(calls, image));
	}
	reach_tick(calls->reach);
	image = reach_find_private(calls->reach);
	if (image != UINT32_MAX && !change(calls, image, reach_unbind))
		calls_report_loss(
			calls,
			"calls of a moment, since many targets run a file and nothing else "
			"does, and its probes were unbound",
			path_of(calls, image));
}
