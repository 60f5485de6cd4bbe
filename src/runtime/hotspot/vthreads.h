/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_HOTSPOT_VTHREADS_H
#define RUNTIME_HOTSPOT_VTHREADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "bpf/lanes/vthreads_abi.h"
#include "process/image.h"

/* What must be known of a JVM's file to see virtual threads run. The file is hostile input. */

/* The most probes of a file: freeze() is there for each kind of heap. */
#define HOTSPOT_VTHREADS_SITES_MAX 32

struct hotspot_vthreads {
	struct hotspot_vthreads_site {
		uint64_t offset; /* in the file */
		enum vthreads_place place;
	} sites[HOTSPOT_VTHREADS_SITES_MAX];
	size_t site_count;
	uint32_t object; /* of struct vthreads_process */
};

/*
 * Returns 0; -ENOENT: not a JVM's, or one without virtual threads; -ENOTSUP: they cannot be
 * followed, with *why filled; another negative errno.
 */
int hotspot_vthreads_of(struct hotspot_vthreads *vthreads, const struct image *image,
			struct fail *why);

#endif
