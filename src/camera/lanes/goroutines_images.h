/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANES_GOROUTINES_IMAGES_H
#define CAMERA_LANES_GOROUTINES_IMAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "camera/calls/probed_files.h"
#include "process/image.h"
#include "runtime/go_waits.h"

/* The programs of Go that targets run, and their probes. */
struct goroutines_images;
struct bpf_program;

/*
 * site: loaded; images: the map of struct goroutines_image. bind: probes are set for each process
 * by itself, where the kernel can; else wherever the file runs. lanes: those of lanes, too. Returns
 * 0 or a negative errno.
 */
int goroutines_images_new(struct bpf_program *site, int images, bool bind, bool lanes,
			  struct goroutines_images **result);
/* Takes the probes away. */
void goroutines_images_detach(struct goroutines_images *images);
void goroutines_images_free(struct goroutines_images *images);

/* A process maps a file. Returns enum source_image: the outcome. */
unsigned int goroutines_images_meet(struct goroutines_images *images, pid_t pid,
				    const struct image *image);

/* The process has ended. */
void goroutines_images_ended(struct goroutines_images *images, pid_t pid);

/* Whether a process that has not ended has probes. */
bool goroutines_images_has(const struct goroutines_images *images, pid_t pid);

/* Calls each() for all processes that have probes; program: the number of what they run. */
void goroutines_images_each(const struct goroutines_images *images,
			    void (*each)(void *context, pid_t pid, uint32_t program),
			    void *context);

/* What is known of the one of that number (of its cookie); null: there is none. */
const struct go_waits *goroutines_images_waits(const struct goroutines_images *images,
					       uint32_t number);

/* Whether an image is the one of that number. */
bool goroutines_images_is(const struct goroutines_images *images, uint32_t number,
			  const struct image *image);

/* Programs, or processes, that could not be watched, with the last one's reason. */
const struct probed_refused *goroutines_images_refused(const struct goroutines_images *images);

#endif
