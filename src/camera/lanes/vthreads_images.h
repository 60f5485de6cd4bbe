/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANES_VTHREADS_IMAGES_H
#define CAMERA_LANES_VTHREADS_IMAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "camera/calls/probed_files.h"
#include "camera/source.h"

/* The JVMs whose virtual threads are followed, and the processes that run them. */
struct vthreads_images;

struct vthreads_programs {
	struct bpf_program *site, *code; /* loaded */
	int processes;			 /* the map of struct vthreads_process */
	bool bind; /* each process has probes of its own, where the kernel can */
};

/* Returns 0 or a negative errno. */
int vthreads_images_new(const struct vthreads_programs *programs, struct vthreads_images **result);
/* Takes the probes away. */
void vthreads_images_detach(struct vthreads_images *images);
void vthreads_images_free(struct vthreads_images *images); /* null is allowed */

/* A process maps an image. Returns enum source_image. */
unsigned int vthreads_images_meet(struct vthreads_images *images, pid_t pid,
				  const struct image *image);
/* It has ended, or runs another program. */
void vthreads_images_gone(struct vthreads_images *images, pid_t pid);
/* It has ended. */
void vthreads_images_ended(struct vthreads_images *images, pid_t pid);
bool vthreads_images_has(const struct vthreads_images *images, pid_t pid);

/* Sets what is missing for processes that have run a virtual thread meanwhile. */
void vthreads_images_look(struct vthreads_images *images, struct samples *samples);

/* Processes whose virtual threads cannot be followed. */
const struct probed_refused *vthreads_images_refused(const struct vthreads_images *images);

#endif
