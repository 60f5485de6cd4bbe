// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "sources/calls/places.h"
#include "process/mappers.h"
#include "process/procfs.h"

/* What bound probes cost: descriptors, and memory for the places of each. */
#define BOUND_MAX	 512
#define BOUND_PLACES_MAX 1000000

/* At most this many processes of one file are worth a look whether it is private. */
#define PRIVATE_PROCESSES 4

/* A process that has probes of its own. */
struct bound {
	pid_t pid;
	uint64_t start; /* as procfs has it: the number may come again */
	bool ending;
};

struct reached {
	uint32_t number;
	int place; /* path leads through it */
	char path[32];
	struct mapped_file file;
	bool has_file; /* else strangers cannot be looked for */
	struct uprobe_place *places;
	size_t count;
	bool is_open; /* its probes are unbound */
	vec(struct bound) bound;
	size_t processes; /* that have had some, in all */
	size_t look;	  /* the number of processes at which it is looked for strangers */
	bool is_guarded;  /* some of its places are (calls_is_guarded()) */
	bool shared;	  /* strangers have been seen in it since it had unbound ones */
};

struct reach {
	struct reach_options options;
	vec(struct reached *) images;
	size_t bound, bound_places;
};

int reach_new(const struct reach_options *options, struct reach **result)
{
	struct reach *reach = calloc(1, sizeof(*reach));

	if (!reach)
		return -ENOMEM;
	reach->options = *options;
	*result = reach;
	return 0;
}

static void free_image(struct reached *image)
{
	if (image->place >= 0)
		close(image->place);
	vec_free(&image->bound);
	free(image->places);
	free(image);
}

void reach_free(struct reach *reach)
{
	if (!reach)
		return;
	vec_foreach (&reach->images, image)
		free_image(*image);
	vec_free(&reach->images);
	free(reach);
}

static void unguard(struct reached *image)
{
	for (size_t i = 0; i < image->count; i++)
		if (calls_is_guarded(&image->places[i]))
			calls_unguard(&image->places[i]);
	image->is_guarded = false;
}

int reach_add(struct reach *reach, int fd, struct uprobe_place *places, size_t count)
{
	struct reached *image = calloc(1, sizeof(*image));

	if (!image || !vec_push(&reach->images, image)) {
		free(image);
		free(places);
		return -ENOMEM;
	}
	image->number = (uint32_t)(reach->images.count - 1);
	/* of one that cannot be had, each attaching fails */
	image->place = file_place(fd);
	snprintf(image->path, sizeof(image->path), "/proc/self/fd/%d", image->place);
	image->has_file = count && mapped_file_of(fd, &image->file);
	image->places = places;
	image->count = count;
	image->look = PRIVATE_PROCESSES;
	image->is_open = !reach->options.can_bind;
	for (size_t i = 0; i < count; i++)
		image->is_guarded |= calls_is_guarded(&places[i]);
	/* children have the breakpoints of their parents in their memory */
	if (reach->options.only_bind)
		unguard(image);
	return 0;
}

static struct reached *image_at_number(const struct reach *reach, uint32_t number)
{
	return number < reach->images.count ? reach->images.at[number] : NULL;
}

/* Strangers in images: counts by number. */
struct strangers {
	const struct reach *reach;
	pid_t *last; /* that was counted */
	size_t *counts;
};

static void count_stranger(void *context, pid_t pid, size_t number)
{
	struct strangers *strangers = context;
	const struct reach_options *options = &strangers->reach->options;

	if (strangers->last[number] == pid || options->is_target(options->context, pid))
		return;
	strangers->last[number] = pid;
	strangers->counts[number]++;
}

/* Counts the processes that are not meant, for each image. */
static int find_all_strangers(const struct reach *reach, size_t *counts)
{
	size_t count = reach->images.count, i;
	struct strangers strangers = {reach, calloc(count + 1, sizeof(pid_t)), counts};
	struct mapped_file *files = calloc(count + 1, sizeof(*files));
	int err = -ENOMEM;

	for (i = 0; files && i < count; i++)
		files[i] = reach->images.at[i]->file;
	if (files && strangers.last)
		err = mappers_find(files, count, count_stranger, &strangers);
	free(files);
	free(strangers.last);
	return err;
}

/* For one. */
static int find_strangers(const struct reach *reach, const struct reached *image, size_t *count)
{
	pid_t last = 0;
	struct strangers strangers = {reach, &last, count};

	*count = 0;
	return mappers_find(&image->file, 1, count_stranger, &strangers);
}

static int attach_open(struct reach *reach, struct reached *image, struct fail *why)
{
	int err = uprobes_attach(reach->options.uprobes, image->path, 0, image->places,
				 image->count, why);

	image->is_open = !err;
	return err;
}

int reach_start(struct reach *reach, size_t *strangers, struct fail *why)
{
	size_t count = reach->images.count, i, *counts = calloc(count + 1, sizeof(*counts));
	bool known = counts && !find_all_strangers(reach, counts);
	int err = 0;

	*strangers = 0;
	for (i = 0; i < count && !err; i++) {
		struct reached *image = reach->images.at[i];

		if (!reach->options.can_bind)
			*strangers = known && counts[i] > *strangers ? counts[i] : *strangers;
		else if (reach->options.only_bind || !known || !image->has_file || counts[i])
			continue;
		err = attach_open(reach, image, why);
	}
	free(counts);
	return err;
}

/* When a living process began. False: it is gone. */
static bool is_alive(pid_t pid, struct procfs_stat *stat)
{
	return procfs_read_stat(pid, "stat", stat) &&
	       (stat->threads > 1 || (stat->state != 'Z' && stat->state != 'X'));
}

static void drop(struct reach *reach, struct reached *image, size_t number)
{
	uprobes_detach(reach->options.uprobes, image->path, image->bound.at[number].pid);
	image->bound.at[number] = image->bound.at[--image->bound.count];
	reach->bound--;
	reach->bound_places -= image->count;
}

static int attach_bound(struct reach *reach, const struct reached *image, pid_t pid)
{
	return uprobes_attach(reach->options.uprobes, image->path, pid, image->places, image->count,
			      NULL);
}

/*
 * Another process than the first one gets bound probes in an image, maybe at the same time. Returns
 * how many had to be set anew for that.
 */
static size_t bind_another(struct reach *reach, struct reached *image)
{
	size_t count = image->bound.count;
	int err;

	if (!image->is_guarded || !image->processes)
		return 0;
	unguard(image);
	vec_foreach (&image->bound, bound)
		uprobes_detach(reach->options.uprobes, image->path, bound->pid);
	uprobes_wait_detached(reach->options.uprobes);
	for (size_t i = count; i-- > 0;) {
		err = attach_bound(reach, image, image->bound.at[i].pid);
		if (!err || err == -ESRCH)
			continue;
		drop(reach, image, i);
		reach->options.without(reach->options.context, image->number, err);
	}
	return count;
}

static int bind(struct reach *reach, struct reached *image, pid_t pid)
{
	struct procfs_stat stat;
	bool alive = is_alive(pid, &stat);
	size_t others;
	int err;

	for (size_t i = 0; i < image->bound.count; i++) {
		if (image->bound.at[i].pid != pid)
			continue;
		/* it may have ended since */
		if (!alive || image->bound.at[i].start == stat.start_ticks)
			return 0;
		drop(reach, image, i);
		break;
	}
	if (!alive)
		return -ESRCH;
	if (stat.state == 'Z')
		return -EOPNOTSUPP;
	if (reach->bound == BOUND_MAX ||
	    image->count > (size_t)BOUND_PLACES_MAX - reach->bound_places)
		return -ENOSPC;
	if (!vec_reserve(&image->bound, image->bound.count + 1))
		return -ENOMEM;
	others = bind_another(reach, image);
	err = attach_bound(reach, image, pid);
	if (err)
		return err;
	image->bound.at[image->bound.count++] = (struct bound){pid, stat.start_ticks, false};
	image->processes++;
	reach->bound++;
	reach->bound_places += image->count;
	return others ? 2 : 1;
}

/* Is it worth a look whether only targets map it? Only from time to time. */
static bool may_be_private(const struct reach *reach, struct reached *image, size_t processes)
{
	size_t strangers;

	if (image->is_open || image->shared || !image->has_file || reach->options.only_bind ||
	    processes <= PRIVATE_PROCESSES || image->processes <= image->look)
		return false;
	/* where strangers are, there will be some for a while */
	image->look = image->processes * 2;
	return !find_strangers(reach, image, &strangers) && !strangers;
}

static bool nobody_lives(const struct reached *image)
{
	struct procfs_stat stat;

	vec_foreach (&image->bound, bound)
		if (is_alive(bound->pid, &stat) && stat.start_ticks == bound->start)
			return false;
	return true;
}

static int unbind(struct reach *reach, struct reached *image)
{
	int err = attach_open(reach, image, NULL);

	while (!err && image->bound.count)
		drop(reach, image, image->bound.count - 1);
	return err;
}

static bool has_bound(const struct reached *image, pid_t pid)
{
	vec_foreach (&image->bound, bound)
		if (bound->pid == pid)
			return true;
	return false;
}

int reach_process(struct reach *reach, uint32_t number, pid_t pid)
{
	struct reached *image = image_at_number(reach, number);
	bool had_probes;

	if (!image || !image->count || image->is_open)
		return 0;
	/* it was held for them, and has ended before the event that it had mapped the file came */
	had_probes = has_bound(image, pid);
	/*
	 * one program after the other: between two of them, no call is lost by that, and none seen
	 * twice
	 */
	if (image->processes > image->look && nobody_lives(image) &&
	    may_be_private(reach, image, image->processes) && !unbind(reach, image))
		return had_probes ? 0 : 1;
	return bind(reach, image, pid);
}

bool reach_is_bound(const struct reach *reach, uint32_t number)
{
	const struct reached *image = image_at_number(reach, number);

	return image && image->count && !image->is_open;
}

struct binding {
	struct reach *reach;
	struct reached *image;
};

static void bind_mapper(void *context, pid_t pid, size_t number)
{
	struct binding *binding = context;
	const struct reach_options *options = &binding->reach->options;
	int err;

	(void)number;
	if (!options->is_target(options->context, pid))
		return;
	err = bind(binding->reach, binding->image, pid);
	if (err < 0 && err != -ESRCH)
		options->without(options->context, binding->image->number, err);
}

int reach_bind(struct reach *reach, uint32_t number)
{
	struct reached *image = image_at_number(reach, number);
	struct binding binding = {reach, image};
	int err;

	if (!image || !image->is_open || !reach->options.can_bind)
		return 0;
	image->is_open = false;
	image->shared = true;
	err = mappers_find(&image->file, 1, bind_mapper, &binding);
	uprobes_detach(reach->options.uprobes, image->path, 0);
	uprobes_wait_detached(reach->options.uprobes);
	return err;
}

uint32_t reach_find_private(struct reach *reach)
{
	for (uint32_t i = 0; i < reach->images.count; i++)
		if (may_be_private(reach, reach->images.at[i], reach->images.at[i]->bound.count))
			return i;
	return UINT32_MAX;
}

int reach_unbind(struct reach *reach, uint32_t number)
{
	struct reached *image = image_at_number(reach, number);
	int err = image ? unbind(reach, image) : -EINVAL;

	uprobes_wait_detached(reach->options.uprobes);
	return err;
}

/* Drops what belongs to processes that have ended. */
static void sweep(struct reach *reach, struct reached *image)
{
	struct procfs_stat stat;

	for (size_t i = image->bound.count; i-- > 0;) {
		struct bound *bound = &image->bound.at[i];

		if (bound->ending &&
		    (!is_alive(bound->pid, &stat) || stat.start_ticks != bound->start))
			drop(reach, image, i);
	}
}

void reach_ended(struct reach *reach, pid_t pid)
{
	vec_foreach (&reach->images, image) {
		bool any = false;

		for (size_t i = 0; i < (*image)->bound.count; i++)
			if ((*image)->bound.at[i].pid == pid)
				any = (*image)->bound.at[i].ending = true;
		if (any)
			sweep(reach, *image);
	}
}

void reach_executed(struct reach *reach, pid_t pid)
{
	vec_foreach (&reach->images, image)
		for (size_t i = (*image)->bound.count; i-- > 0;)
			if ((*image)->bound.at[i].pid == pid)
				drop(reach, *image, i);
	uprobes_wait_detached(reach->options.uprobes);
}

void reach_tick(struct reach *reach)
{
	vec_foreach (&reach->images, image)
		sweep(reach, *image);
}
