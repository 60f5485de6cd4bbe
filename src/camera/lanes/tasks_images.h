/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANES_TASKS_IMAGES_H
#define CAMERA_LANES_TASKS_IMAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "camera/calls/probed_files.h"
#include "process/image.h"

struct bpf_program;
struct python_tasks;

/* The files that have asyncio's C part, and the processes that run them. */
struct tasks_images;

/*
 * map: of struct tasks_image, by the number in a probe's cookie. bind: each process has probes of
 * its own, where the kernel can. Returns 0 or a negative errno.
 */
int tasks_images_new(struct bpf_program *site, int map, bool bind, struct tasks_images **result);
/* Takes the probes away. */
void tasks_images_detach(struct tasks_images *images);
void tasks_images_free(struct tasks_images *images); /* null is allowed */

/* A process maps an image. Returns enum source_image. */
unsigned int tasks_images_meet(struct tasks_images *images, pid_t pid, const struct image *image);
void tasks_images_ended(struct tasks_images *images, pid_t pid);
/* Calls each() with every process that runs one, and the number of that file. */
void tasks_images_each(const struct tasks_images *images,
		       void (*each)(void *context, pid_t pid, uint32_t file), void *context);
/* What is known of a file; null: there is none of that number. */
const struct python_tasks *tasks_images_facts(const struct tasks_images *images, uint32_t number);
bool tasks_images_has(const struct tasks_images *images, pid_t pid);

/* Files whose tasks cannot be followed. */
const struct probed_refused *tasks_images_refused(const struct tasks_images *images);

#endif
