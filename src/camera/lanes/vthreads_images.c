// SPDX-License-Identifier: Apache-2.0
#include "camera/lanes/vthreads_images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "camera/breakpoints.h"
#include "runtime/hotspot_vthreads.h"

/* A program that a process runs. */
struct running {
	pid_t pid;
	uint32_t object; /* of its file */
	bool is_over;	 /* its probes are all set, or it was refused; else it is looked at */
};

struct vthreads_images {
	struct vthreads_programs programs;
	struct probed_files files;
	vec(struct hotspot_vthreads) facts; /* of each file */
	vec(struct running) running;
	struct breakpoints breakpoints;
	struct probed_refused refused;
};

int vthreads_images_new(const struct vthreads_programs *programs, struct vthreads_images **result)
{
	struct vthreads_images *images = calloc(1, sizeof(*images));
	int err;

	if (!images)
		return -ENOMEM;
	images->programs = *programs;
	err = probed_files_begin(&images->files, programs->site, programs->bind, true);
	if (err)
		free(images);
	else
		*result = images;
	return err;
}

void vthreads_images_detach(struct vthreads_images *images)
{
	breakpoints_remove(&images->breakpoints, 0);
	probed_files_detach(&images->files);
}

void vthreads_images_free(struct vthreads_images *images)
{
	if (!images)
		return;
	breakpoints_free(&images->breakpoints);
	probed_files_free(&images->files);
	vec_free(&images->facts);
	vec_free(&images->running);
	free(images);
}

/* Another file. Returns its number; -1: not a JVM's, or it cannot be watched. */
static int add(void *context, const struct image *image)
{
	struct vthreads_images *images = context;
	struct hotspot_vthreads facts;
	struct fail why = {0};
	int err = hotspot_vthreads_of(&facts, image, &why);

	if (err && err != -ENOENT)
		probed_refused_add(&images->refused, &why);
	if (!err) {
		if (vec_reserve(&images->facts, images->facts.count + 1) &&
		    probed_files_add(&images->files, image) >= 0) {
			images->facts.at[images->facts.count++] = facts;
			return (int)images->facts.count - 1;
		}
		fail(&why, -ENOSPC, NULL, "too many JVMs");
		probed_refused_add(&images->refused, &why);
	}
	return -1;
}

/* Where the probes of a file go. Returns how many there are. */
static size_t places_of(const struct vthreads_images *images, uint32_t number,
			struct uprobe_place places[HOTSPOT_VTHREADS_SITES_MAX])
{
	const struct hotspot_vthreads *facts = &images->facts.at[number];

	for (size_t i = 0; i < facts->site_count; i++) {
		const struct hotspot_vthreads_site *site = &facts->sites[i];
		bool is_end = site->place == VTHREADS_FROZEN || site->place == VTHREADS_RESUMED ||
			      site->place == VTHREADS_MADE;

		places[i] = (struct uprobe_place){
			.offset = site->offset,
			.group = number,
			.kind = is_end ? UPROBE_EXIT_SITE : UPROBE_ENTRY,
			.cookie = site->place,
			.entry_cookie = site->place,
		};
	}
	return facts->site_count;
}

static bool is_running(const struct vthreads_images *images, pid_t pid)
{
	vec_foreach (&images->running, running)
		if (running->pid == pid)
			return true;
	return false;
}

unsigned int vthreads_images_meet(struct vthreads_images *images, pid_t pid,
				  const struct image *image)
{
	struct uprobe_place places[HOTSPOT_VTHREADS_SITES_MAX];
	struct fail why = {0};
	int number = probed_files_meet(&images->files, image, add, images), err;
	unsigned int state;

	if (number < 0)
		return 0;
	if (!is_running(images, pid) &&
	    !vec_push(&images->running,
		      (struct running){pid, images->facts.at[number].object, false}))
		return 0;
	err = probed_files_run(&images->files, (uint32_t)number, pid, places,
			       places_of(images, (uint32_t)number, places), &state, &why);
	if (err && err != -ESRCH)
		probed_refused_add(&images->refused, &why);
	return state;
}

/* Returns whether there is nothing left to be done. */
static bool follow(struct vthreads_images *images, const struct running *running,
		   struct samples *samples)
{
	struct vthreads_process process;
	struct fail why = {0};
	uint32_t pid = (uint32_t)running->pid;
	int err;

	samples_follow_begin(samples, running->pid);
	err = samples_vthreads(samples, running->pid, running->object, &process, &why);

	if (err == -EAGAIN)
		return false;
	if (!err) {
		const uint64_t addresses[] = {process.first, process.end};

		err = breakpoints_add(&images->breakpoints, running->pid,
				      bpf_program__fd(images->programs.code), addresses, 2, &why);
		process.since = clock_ns();
		if (!err &&
		    bpf_map_update_elem(images->programs.processes, &pid, &process, BPF_ANY))
			err = fail(&why, -ENOSPC, NULL, "too many JVMs");
	}
	if (err && err != -ESRCH)
		probed_refused_add(&images->refused, &why);
	return true;
}

void vthreads_images_look(struct vthreads_images *images, struct samples *samples)
{
	vec_foreach (&images->running, running)
		if (!running->is_over)
			running->is_over = follow(images, running, samples);
}

void vthreads_images_gone(struct vthreads_images *images, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t kept = 0;

	if (!is_running(images, pid))
		return;
	vec_foreach (&images->running, running)
		if (running->pid != pid)
			images->running.at[kept++] = *running;
	images->running.count = kept;
	breakpoints_remove(&images->breakpoints, pid);
	bpf_map_delete_elem(images->programs.processes, &key);
}

void vthreads_images_ended(struct vthreads_images *images, pid_t pid)
{
	vthreads_images_gone(images, pid);
	probed_files_ended(&images->files, pid);
}

bool vthreads_images_has(const struct vthreads_images *images, pid_t pid)
{
	return probed_files_has(&images->files, pid);
}

const struct probed_refused *vthreads_images_refused(const struct vthreads_images *images)
{
	return &images->refused;
}
