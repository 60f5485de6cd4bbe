/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_GOROUTINES_IMAGES_H
#define SOURCES_LANES_GOROUTINES_IMAGES_H

#include "sources/probed_images.h"
#include "runtime/go/waits.h"

/* Programs of Go, with the probes of waits, or of lanes, too; their facts are a struct go_waits. */
extern const struct probed_kind goroutines_waits_kind, goroutines_lanes_kind;

#endif
