// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/inspect.h"

#include <errno.h>
#include <stdlib.h>

#include "sources/inspect/film.h"
#include "sources/inspect/state.h"

/* What was named must be somewhere, unless the file that has it can come later. */
static int check_found(struct inspect *inspect, struct fail *why)
{
	int err = inspect_check_lines(inspect, why);

	if (err == -ENOENT && plan_may_grow(inspect->plan)) {
		if (why && inspect->options.warn)
			inspect->options.warn(why->what);
		err = 0;
	}
	for (size_t i = 0; !err && inspect->functions.count && i < inspect->options.part_count; i++)
		if (!(inspect->found_parts & 1ull << i))
			err = fail(why, -EINVAL, "--list shows what there is",
				   "--show '%s': no argument or variable of that name",
				   inspect->options.parts[i]);
	return err;
}

/* Lists functions, reads their debug information, and makes their plans. */
static int read_all(struct inspect *inspect, struct fail *why)
{
	const struct inspect_options *options = &inspect->options;
	size_t images = 0;
	int err;

	if (options->traced)
		inspect->plan = options->traced->plan;
	err = options->traced ? 0 : plan_new(&options->plan, &inspect->plan, why);
	if (!err && !options->traced && options->warn && plan_warning(inspect->plan))
		options->warn(plan_warning(inspect->plan));
	if (!err)
		plan_images(inspect->plan, &images);
	for (size_t i = 0; i < images && !err; i++)
		err = inspect_add_image(inspect, (uint32_t)i, why);
	if (!err && !inspect->functions.count && options->signature)
		err = fail(why, -ENOENT, "name it without parameters, or see --list",
			   "no function is '%s'", options->signature);
	return err ? err : check_found(inspect, why);
}

static void *read_beside(void *context)
{
	struct inspect *inspect = context;

	inspect->reading.err = read_all(inspect, &inspect->reading.why);
	return NULL;
}

int inspect_read_beside(const struct inspect_options *options, struct inspect **result,
			struct fail *why)
{
	const struct symbol_options names = {.debuginfod = true, .thorough = true};
	struct inspect *inspect = calloc(1, sizeof(*inspect));

	*result = NULL;
	if (inspect)
		inspect->found_lines =
			calloc(options->place_count + 1, sizeof(*inspect->found_lines));
	if (!inspect || !inspect->found_lines || symbols_new(&names, &inspect->symbols)) {
		free(inspect ? inspect->found_lines : NULL);
		free(inspect);
		return fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	}
	inspect->options = *options;
	uprobe_ways_probe(&inspect->ways);
	inspect->called = inspect_called_new(inspect->symbols);
	if (options->stacks && inspect_stacks_new(inspect->symbols, &inspect->stacks)) {
		inspect_free(inspect);
		return fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	}
	inspect->reading.is_on =
		!pthread_create(&inspect->reading.thread, NULL, read_beside, inspect);
	if (!inspect->reading.is_on)
		read_beside(inspect);
	*result = inspect;
	return 0;
}

int inspect_wait(struct inspect *inspect, struct fail *why)
{
	if (inspect->reading.is_on)
		pthread_join(inspect->reading.thread, NULL);
	inspect->reading.is_on = false;
	if (inspect->reading.err && why)
		*why = inspect->reading.why;
	return inspect->reading.err;
}

int inspect_new(const struct inspect_options *options, struct inspect **result, struct fail *why)
{
	struct inspect *inspect;
	int err = inspect_read_beside(options, &inspect, why);

	*result = NULL;
	if (!err)
		err = inspect_wait(inspect, why);
	if (err)
		inspect_free(inspect);
	else
		*result = inspect;
	return err;
}

void inspect_free(struct inspect *inspect)
{
	if (!inspect)
		return;
	inspect_wait(inspect, NULL);
	reach_free(inspect->reach);
	uprobes_free(inspect->uprobes);
	vec_foreach (&inspect->images, image) {
		values_free(&image->values);
		vec_free(&image->places);
	}
	vec_foreach (&inspect->functions, f) {
		free(f->parts);
		free(f->owned_name);
	}
	vec_foreach (&inspect->pending, pending) {
		free(pending->begun.record);
		free(pending->begun.stack);
	}
	vec_free(&inspect->pending);
	map_free(&inspect->pending_of);
	map_free(&inspect->programs);
	vec_free(&inspect->images);
	vec_free(&inspect->functions);
	vec_free(&inspect->plans);
	vec_free(&inspect->function_of_plan);
	vec_free(&inspect->address_of_plan);
	if (!inspect->options.traced)
		plan_free(inspect->plan);
	vec_free(&inspect->kept);
	map_free(&inspect->result_plans);
	free(inspect->last);
	free(inspect->found_lines);
	vec_free(&inspect->arguments.nodes);
	vec_free(&inspect->results.nodes);
	inspect_stacks_free(inspect->stacks);
	inspect_called_free(inspect->called);
	inspect_film_free(inspect->film);
	symbols_free(inspect->symbols);
	free(inspect);
}

struct inspect_names inspect_names_of(const struct inspect *inspect, uint32_t image, uint64_t bias)
{
	struct inspect_names names = {.called = inspect->called, .number = image, .bias = bias};
	const struct plan_image *images;
	size_t count = 0;

	images = inspect->plan ? plan_images(inspect->plan, &count) : NULL;
	if (image < count)
		names.image = (struct symbol_image){
			.fd = images[image].fd,
			.path = images[image].path,
			.root = images[image].root,
			.build_id = images[image].build_id,
			.build_id_size = images[image].build_id_size,
		};
	else
		names.called = NULL;
	return names;
}

bool inspect_is_done(const struct inspect *inspect)
{
	return inspect->options.calls && inspect->statistics.calls >= inspect->options.calls;
}

void inspect_statistics(const struct inspect *inspect, struct inspect_statistics *statistics)
{
	struct uprobes_counts counts =
		inspect->uprobes ? uprobes_counts(inspect->uprobes) : inspect->attached;

	*statistics = inspect->statistics;
	vec_foreach (&inspect->functions, f) {
		statistics->functions += !f->site;
		statistics->places += f->site && f->plans;
	}
	statistics->refused += counts.refused;
}
