// SPDX-License-Identifier: Apache-2.0
#include "camera/lanes/tasks_images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "runtime/python_tasks.h"

struct tasks_images {
	struct probed_files files;
	vec(struct python_tasks) facts; /* of each file */
	int map;
	struct probed_refused refused;
};

int tasks_images_new(struct bpf_program *site, int map, bool bind, struct tasks_images **result)
{
	struct tasks_images *images = calloc(1, sizeof(*images));
	int err;

	if (!images)
		return -ENOMEM;
	images->map = map;
	err = probed_files_begin(&images->files, site, bind, true);
	if (err)
		free(images);
	else
		*result = images;
	return err;
}

void tasks_images_detach(struct tasks_images *images)
{
	probed_files_detach(&images->files);
}

void tasks_images_free(struct tasks_images *images)
{
	if (!images)
		return;
	probed_files_free(&images->files);
	vec_free(&images->facts);
	free(images);
}

/* Another file. Returns its number; -1: it has no such part, or cannot be watched. */
static int add(void *context, const struct image *image)
{
	struct tasks_images *images = context;
	uint32_t number = (uint32_t)images->facts.count;
	struct python_tasks facts;
	struct fail why = {0};
	int err = python_tasks_of(&facts, image, &why);

	if (err && err != -ENOENT)
		probed_refused_add(&images->refused, &why);
	if (!err) {
		facts.image.since = clock_ns();
		if (number < TASKS_IMAGES_MAX && vec_reserve(&images->facts, number + 1) &&
		    !bpf_map_update_elem(images->map, &number, &facts.image, BPF_ANY) &&
		    probed_files_add(&images->files, image) >= 0) {
			images->facts.at[images->facts.count++] = facts;
			return (int)number;
		}
		fail(&why, -ENOSPC, NULL, "too many interpreters");
		probed_refused_add(&images->refused, &why);
	}
	return -1;
}

/* Where the probes of a file go. Returns how many there are. */
static size_t places_of(const struct tasks_images *images, uint32_t number,
			struct uprobe_place places[PYTHON_TASKS_SITES_MAX])
{
	const struct python_tasks *facts = &images->facts.at[number];

	for (size_t i = 0; i < facts->site_count; i++) {
		const struct python_tasks_site *site = &facts->sites[i];
		bool is_end = site->place == TASKS_STEPPED || site->place == TASKS_RAN ||
			      site->place == TASKS_BEGUN;

		places[i] = (struct uprobe_place){
			.offset = site->offset,
			.group = number,
			.kind = is_end ? UPROBE_EXIT_SITE : UPROBE_ENTRY,
			.cookie = TASKS_COOKIE(number, site->place),
			.entry_cookie = TASKS_COOKIE(number, site->place),
		};
	}
	return facts->site_count;
}

unsigned int tasks_images_meet(struct tasks_images *images, pid_t pid, const struct image *image)
{
	struct uprobe_place places[PYTHON_TASKS_SITES_MAX];
	struct fail why = {0};
	int number = probed_files_meet(&images->files, image, add, images), err;
	unsigned int state;

	if (number < 0)
		return 0;
	err = probed_files_run(&images->files, (uint32_t)number, pid, places,
			       places_of(images, (uint32_t)number, places), &state, &why);
	if (err && err != -ESRCH)
		probed_refused_add(&images->refused, &why);
	return state;
}

void tasks_images_ended(struct tasks_images *images, pid_t pid)
{
	probed_files_ended(&images->files, pid);
}

void tasks_images_each(const struct tasks_images *images,
		       void (*each)(void *context, pid_t pid, uint32_t file), void *context)
{
	vec_foreach (&images->files.processes, process)
		each(context, process->pid, process->file);
}

const struct python_tasks *tasks_images_facts(const struct tasks_images *images, uint32_t number)
{
	return number < images->facts.count ? &images->facts.at[number] : NULL;
}

bool tasks_images_has(const struct tasks_images *images, pid_t pid)
{
	return probed_files_has(&images->files, pid);
}

const struct probed_refused *tasks_images_refused(const struct tasks_images *images)
{
	return &images->refused;
}
