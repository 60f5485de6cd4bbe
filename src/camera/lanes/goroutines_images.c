// SPDX-License-Identifier: Apache-2.0
#include "camera/lanes/goroutines_images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/vec.h"

struct goroutines_images {
	struct probed_files files;
	vec(struct go_waits) waits; /* of each file */
	int map;
	bool lanes;
	struct probed_refused refused;
};

int goroutines_images_new(struct bpf_program *site, int map, bool bind, bool lanes,
			  struct goroutines_images **result)
{
	struct goroutines_images *images = calloc(1, sizeof(*images));
	int err;

	if (!images)
		return -ENOMEM;
	images->map = map;
	images->lanes = lanes;
	err = probed_files_begin(&images->files, site, bind, true);
	if (err)
		free(images);
	else
		*result = images;
	return err;
}

void goroutines_images_detach(struct goroutines_images *images)
{
	probed_files_detach(&images->files);
}

void goroutines_images_free(struct goroutines_images *images)
{
	if (!images)
		return;
	probed_files_free(&images->files);
	vec_foreach (&images->waits, waits)
		go_waits_free(waits);
	vec_free(&images->waits);
	free(images);
}

/* Another file. Returns its number; -1: it is not Go's, or cannot be watched. */
static int add(void *context, const struct image *image)
{
	struct goroutines_images *images = context;
	uint32_t number = (uint32_t)images->waits.count;
	struct go_waits waits = {0};
	struct fail why = {0};
	int err = go_waits_of(&waits, image, &why);

	if (err == -ENOTSUP)
		probed_refused_add(&images->refused, &why);
	if (!err) {
		waits.image.since = clock_ns();
		if (number < GOROUTINES_IMAGES_MAX && vec_reserve(&images->waits, number + 1) &&
		    !bpf_map_update_elem(images->map, &number, &waits.image, BPF_ANY) &&
		    probed_files_add(&images->files, image) >= 0) {
			images->waits.at[images->waits.count++] = waits;
			return (int)number;
		}
		go_waits_free(&waits);
		fail(&why, -ENOSPC, NULL, "too many programs of Go");
		probed_refused_add(&images->refused, &why);
	}
	return -1;
}

/* Where the probes of a program go. Returns how many there are. */
static uint32_t places_of(const struct goroutines_images *images, uint32_t number,
			  struct uprobe_place places[GOROUTINES_PLACES])
{
	const uint64_t *offsets = images->waits.at[number].places;
	uint32_t count = 0;

	for (uint32_t i = 0; i < GOROUTINES_PLACES; i++) {
		bool is_of_lanes = i >= GOROUTINES_PLACES_OF_WAITS;

		/* ready() calls runqput() */
		if (!offsets[i] || (is_of_lanes && !images->lanes) ||
		    (i == GOROUTINES_READY && images->lanes && offsets[GOROUTINES_RUNQPUT]))
			continue;
		places[count++] = (struct uprobe_place){
			.offset = offsets[i],
			.group = number,
			.kind = UPROBE_ENTRY,
			.cookie = GOROUTINES_COOKIE(number, i),
			.entry_cookie = GOROUTINES_COOKIE(number, i),
		};
	}
	return count;
}

unsigned int goroutines_images_meet(struct goroutines_images *images, pid_t pid,
				    const struct image *image)
{
	struct uprobe_place places[GOROUTINES_PLACES];
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

void goroutines_images_ended(struct goroutines_images *images, pid_t pid)
{
	probed_files_ended(&images->files, pid);
}

bool goroutines_images_has(const struct goroutines_images *images, pid_t pid)
{
	return probed_files_has(&images->files, pid);
}

void goroutines_images_each(const struct goroutines_images *images,
			    void (*each)(void *context, pid_t pid, uint32_t program), void *context)
{
	vec_foreach (&images->files.processes, process)
		each(context, process->pid, process->file);
}

const struct go_waits *goroutines_images_waits(const struct goroutines_images *images,
					       uint32_t number)
{
	return number < images->waits.count ? &images->waits.at[number] : NULL;
}

bool goroutines_images_is(const struct goroutines_images *images, uint32_t number,
			  const struct image *image)
{
	return probed_files_is(&images->files, number, image);
}

const struct probed_refused *goroutines_images_refused(const struct goroutines_images *images)
{
	return &images->refused;
}
