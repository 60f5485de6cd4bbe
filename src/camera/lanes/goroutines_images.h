/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANES_GOROUTINES_IMAGES_H
#define CAMERA_LANES_GOROUTINES_IMAGES_H

#include "camera/calls/probed_images.h"
#include "runtime/go_waits.h"

/* Programs of Go, with the probes of waits, or of lanes, too; their facts are a struct go_waits. */
extern const struct probed_kind goroutines_waits_kind, goroutines_lanes_kind;

#endif
